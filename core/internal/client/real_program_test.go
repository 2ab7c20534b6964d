package client

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The test binary is also the worker of a real daemon: see realWorker.
func TestMain(m *testing.M) {
	play.Roles(realWorker)
	// As the daemon's process does: what a dead zygote leaves becomes its own.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.Exit(m.Run())
}

// realWorker is a worker process with a client of its own, as Python's workers
// are. A function's name, or a method's, says what a call does.
func realWorker(sock, token string) int {
	c, err := Connect(Options{Socket: sock, Role: wire.RoleWorker, Token: token, Exit: os.Exit})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	p := &program{c: c}
	for {
		it, err := c.NextTask(-1, "")
		switch {
		case err != nil:
			return 1
		case it == nil || it.Kind == ItemAssign || it.Kind == ItemForget:
		case it.Kind == ItemExit:
			_ = c.Exiting(it.Reason)
			c.Close(0)
			return 0
		case it.Kind == ItemActor:
			p.construct(it)
		case it.Tmpl.Flow.Mode != 0:
			p.generate(it)
		default:
			v, flags := p.run(it)
			_ = c.Reply(it.Token, []Value{v}, flags)
			p.letGo(it)
			if it.Tmpl.MaxCalls > 0 { // as the Python half does
				_ = c.Exiting("max_calls")
				c.Close(0)
				return 0
			}
		}
	}
}

// program is what a worker's calls share.
type program struct {
	c       *Client
	counter int
	kept    []ids.Object
}

func (p *program) letGo(it *Item) {
	for _, x := range append([]Found{it.Args}, it.Deps...) {
		if x.View != 0 {
			p.c.Release(Drop{View: x.View})
		}
	}
}

func (p *program) construct(it *Item) {
	defer p.letGo(it)
	given := textIn(it)
	switch {
	case given == "raises":
		_ = p.c.ActorReady(it.Token, false, "ValueError: no", exception("no").Meta, nil)
	case given == "raises much":
		v := exception(strings.Repeat("much ", 100_000))
		_ = p.c.ActorReady(it.Token, false, "ValueError: much", v.Meta, exception("in short").Meta)
	case given == "dies":
		os.Exit(9)
	default:
		p.counter = len(given)
		_ = p.c.ActorReady(it.Token, true, "", nil, nil)
	}
}

// generate yields so many numbers as the arguments say.
func (p *program) generate(it *Item) {
	n := len(textIn(it))
	for i := range n {
		st, err := p.c.FeedItem(it.Token, text(fmt.Sprint(i)), 0)
		if err == nil && st == FeedFull {
			st, err = p.c.FeedRoom(it.Token, -1)
		}
		if err != nil || st != FeedOpen {
			break
		}
	}
	_ = p.c.Reply(it.Token, []Value{{Fmt: FmtNone}}, 0)
}

// textIn is the text of a call: of its arguments, with those of what it takes.
func textIn(it *Item) string {
	all := ""
	for _, f := range append([]Found{it.Args}, it.Deps...) {
		if e, err := store.Parse(f.Envelope); err == nil {
			all += string(e.Meta)
			for _, b := range e.Bufs {
				all += fmt.Sprintf("<%d>", len(b))
			}
		}
	}
	return all
}

// noted counts a run in a file: each adds a byte.
func noted(path string) int {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	_, _ = f.WriteString(".")
	st, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(st.Size())
}

// run does what a call's name says, and gives its result and the flags of the answer.
func (p *program) run(it *Item) (Value, int) {
	given, name := textIn(it), it.Tmpl.Name
	if it.Kind == ItemMethod {
		name = it.Tmpl.Method
	}
	result := given
	switch name {
	case "pid":
		result = fmt.Sprint(os.Getpid())
	case "large": // a value for the arena, whose runs are counted
		result = fmt.Sprint(noted(given))
		return Value{Fmt: FmtBytes, Meta: []byte(result), Bufs: [][]byte{make([]byte, 1<<20)}}, 0
	case "raise":
		return exception(given), wire.ReplyAppError
	case "raise twice":
		if noted(given) < 3 {
			return exception(given), wire.ReplyAppError
		}
	case "crash":
		noted(given)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		time.Sleep(time.Hour)
	case "counts": // its runs, in a file; a name that ends with "dies" ends its process, when earlier answers have left
		noted(given)
		if strings.HasSuffix(given, "dies") {
			p.flush()
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			time.Sleep(time.Hour)
		}
	case "sleeps": // for a millisecond
		time.Sleep(time.Millisecond)
	case "colour":
		result = os.Getenv("COLOUR")
	case "crash twice":
		if noted(given) < 3 {
			os.Exit(3)
		}
	case "wait": // until it is cancelled, or the file is there
		noted(given + ".begun")
		for !p.c.Cancelled(it.TaskID) {
			if _, err := os.Stat(given); err == nil {
				return *text("went on"), 0
			}
			time.Sleep(time.Millisecond)
		}
		noted(given + ".cancelled")
		return Value{}, wire.ReplyCancelled
	case "outer": // a task that waits for one of its own
		id := p.submit("wait", given)
		_, err := p.c.Get(id, -1)
		result = fmt.Sprint(err)
		if p.c.Cancelled(it.TaskID) {
			return Value{}, wire.ReplyCancelled
		}
	case "ignores": // fails somewhere inside, and nobody looks
		id := p.submit("raise", given)
		for ready := false; !ready; time.Sleep(time.Millisecond) {
			ready, _ = p.c.Ready(id)
		}
		p.c.Release(Drop{Object: id})
	case "puts": // gives a reference to what it has put
		id, err := p.c.Put(text("inside " + given))
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		addr, _ := p.c.Export(id)
		return Value{Fmt: FmtBytes, Meta: []byte(fmt.Sprintf("%x@%s", id[:], addr)), Nested: []ids.Object{id}}, 0
	case "looks": // at what the reference in its arguments means
		id, err := takeRef(p.c, given)
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		f, err := p.c.Get(id, -1)
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		e, _ := store.Parse(f.Envelope)
		result = string(e.Meta)
	case "starts": // so many tasks at the other node, and gives references to their results
		var name, path, said string
		var n, retries int
		if _, err := fmt.Sscan(given, &name, &n, &retries, &path); err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		tm := realTemplate(name, retries)
		tm.Resources = play.Units(map[string]float64{"CPU": 0.1, "b": 0.1})
		number, err := p.c.NewTemplate(tm)
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		v := text(fmt.Sprint(os.Getpid()))
		for i := range n {
			arg := path
			if name == "counts" {
				if arg += fmt.Sprint(i); i%10 == 3 {
					arg += "dies"
				}
			}
			id, _, err := p.c.Submit(&Call{Template: number, Args: Value{Fmt: FmtPickle, Meta: []byte(arg)}})
			if err != nil {
				return exception(err.Error()), wire.ReplyAppError
			}
			addr, _ := p.c.Export(id)
			said += fmt.Sprintf(" %x@%s", id[:], addr)
			v.Nested = append(v.Nested, id)
		}
		v.Meta = append(v.Meta, said...)
		return *v, 0
	case "creates": // an actor, and gives a handle of it as text; its own call of the actor ends when a file is there
		s := realActor()
		count, path, _ := strings.Cut(given, " ")
		id, _, err := p.c.NewActor(&s, &Value{Fmt: FmtPickle, Meta: []byte(count)}, nil)
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		tm, _ := p.c.NewTemplate(&Template{Kind: KindMethod, Name: "A.add later", Method: "add later", Returns: 1})
		ref, _, err := p.c.CallActor(id, &Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(path)}})
		if err != nil {
			return exception(err.Error()), wire.ReplyAppError
		}
		p.kept = append(p.kept, ref)
		return Value{Fmt: FmtBytes, Meta: []byte(fmt.Sprintf("%x %s", id[:], p.c.ActorToken(id))), Nested: []ids.Object{p.c.ActorTokenID(id)}}, 0
	case "add later": // when the file is there
		for {
			if _, err := os.Stat(given); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		p.counter++
		result = fmt.Sprint(p.counter)
	case "add":
		p.counter++
		result = fmt.Sprint(p.counter)
	}
	return *text(result), 0
}

// flush sends the answers that wait.
func (p *program) flush() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.poller.FlushUntil(time.Now().Add(play.Limit))
}

// submit has the worker submit a task of one CPU.
func (p *program) submit(name, said string) ids.Object {
	tm, err := p.c.NewTemplate(realTemplate(name, 0))
	if err != nil {
		panic(err)
	}
	id, _, err := p.c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(said)}})
	if err != nil {
		panic(err)
	}
	return id
}

// takeRef makes a reference of what Export and the id say.
func takeRef(c *Client, said string) (id ids.Object, err error) {
	text, addr, _ := strings.Cut(said, "@")
	var raw []byte
	if _, err := fmt.Sscanf(text, "%x", &raw); err != nil {
		return id, err
	}
	if id, err = ids.ParseObject(raw); err != nil {
		return id, err
	}
	return id, c.Import(id, addr, 0)
}

// realActor is an actor that needs nothing.
func realActor() ActorSpec {
	s := ActorSpec{FID: []byte("class-of-sixteen"), Blob: []byte("class")}
	s.ClassName, s.Namespace, s.EnvKey, s.MaxConcurrency = "A", "n", "default", 1
	return s
}

func realTemplate(name string, retries int) *Template {
	return &Template{
		Kind: KindTask, Name: name, FID: []byte(fmt.Sprintf("%-16.16s", name)), Blob: []byte(name), Returns: 1,
		MaxRetries: retries, Resources: play.Units(play.OneCPU), EnvKey: "default", Strategy: "DEFAULT",
	}
}
