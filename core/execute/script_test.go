package execute

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

var update = flag.Bool("update", false, "rewrite the expected traces")

// TestScripts runs testdata/*.txt: each line is an event, and the indented lines
// after it are the effects that it must have, in order. A script's time stands
// still but for its "time" events.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			synctest.Test(t, func(t *testing.T) { got = runScript(t, string(src)) })
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(src) {
				t.Errorf("trace differs; run with -update and look at the change.\n--- got\n%s", got)
			}
		})
	}
}

func runScript(t *testing.T, src string) string {
	var out strings.Builder
	w, session := newWorker()
	s := &script{t: t, w: w, s: session, calls: map[string]*Call{}}
	sc := bufio.NewScanner(strings.NewReader(src))
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.s.mu.Lock()
		s.do(strings.Fields(line))
		for _, l := range s.s.takes() {
			fmt.Fprintln(&out, "  "+l)
		}
		s.s.mu.Unlock()
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	s.s.ended = true // timers that are left do nothing
	return out.String()
}

// script executes the lines of one file. Calls are named by their caller and
// sequence number, as in "a.1".
type script struct {
	t       *testing.T
	w       *Worker
	s       *fakeSession
	calls   map[string]*Call // that were taken out of the queue
	threads int
}

// option returns the value of "name=" among the words.
func option(words []string, name string) string {
	for _, x := range words {
		if v, ok := strings.CutPrefix(x, name+"="); ok {
			return v
		}
	}
	return ""
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatalf("%q is no number", text)
	}
	return n
}

func (s *script) call(name string) *Call {
	k := s.calls[name]
	if k == nil {
		s.t.Fatalf("call %s was not taken out of the queue", name)
	}
	return k
}

// named returns the caller and the sequence number that a call's name has.
func (s *script) named(name string) (*Caller, uint32) {
	caller, seq, _ := strings.Cut(name, ".")
	return s.s.callers[caller], uint32(s.number(seq))
}

func (s *script) do(words []string) {
	w, note := s.w, s.s.notef
	switch words[0] {
	case "caller":
		s.s.joins(w, words[1], map[string]string{"lease": wire.RoleLease, "actor": wire.RoleActor}[words[2]])
	case "template":
		s.template(words)
	case "task", "again", "generator":
		s.arrives(words)
	case "assign":
		says(s.t, s.s.callers[words[1]], frame.AppendAssign(nil, []byte("assignment")))
	case "gone":
		s.pipe(words[1]).closed = true
		s.s.callers[words[1]].Gone(nil)
	case "full", "writable":
		p := s.pipe(words[1])
		p.full = words[0] == "full"
		p.Flush()
	case "groups":
		if err := w.DeclareGroups(words[1:], func() { note("begin the system group's thread") }); err != nil {
			s.t.Fatal(err)
		}
	case "limit":
		w.LimitBacklog(s.number(words[1]), s.number(words[2]))
	case "await", "next", "head":
		s.takes(words)
	case "begin":
		w.Begin(s.call(words[1]))
	case "hold":
		for range s.number(words[2]) {
			s.call(words[1]).Hold(new(refs.Object))
		}
	case "defer":
		note("deferred: %v", w.Defer(s.call(words[1])))
	case "arrived":
		w.Arrived(s.call(words[1]))
	case "lost":
		var lost []int
		for _, x := range words[2:] {
			lost = append(lost, s.number(x))
		}
		w.GiveLost(s.call(words[1]), lost)
	case "answer":
		answers(w, s.call(words[1]), flagsOf(words[2:]))
	case "fault":
		w.AnswerFault(s.call(words[1]), fault.New(fault.Internal, "it cannot run"))
	case "cancel":
		c, seq := s.named(words[1])
		id := taskID(c, seq)
		w.Cancel(&wire.Cancel{TaskID: id[:], Force: slices.Contains(words, "force"), Recursive: slices.Contains(words, "recursive")})
	case "asks":
		id, ok := w.TakeCancelled()
		note("cancelled: %s %v", s.s.tasks[id], ok)
	case "block":
		w.Block()
	case "unblock":
		w.Unblock()
	case "look":
		w.GiveOverdueBack()
	case "time":
		s.s.mu.Unlock()
		time.Sleep(time.Duration(s.number(words[1])) * time.Millisecond)
		synctest.Wait()
		s.s.mu.Lock()
	case "taken", "quit", "yield", "room", "feeds":
		s.generator(words)
	case "actor":
		s.actor(words[1])
	case "drain":
		w.Drain()
	case "allread":
		w.AllRead()
	case "stop":
		w.Stop(words[1])
	case "leave":
		w.Leave(s.call(words[1]).Token())
	case "state":
		x := w.Counts()
		note("%d run, %d wait, %d bytes, %d early, %d block, lent %v, full %v, ends %q", x.Running, x.Waiting, x.Backlog, x.Early, x.Blocked, x.Lent, x.Full, w.Ended())
	default:
		s.t.Fatalf("unknown event %q", words[0])
	}
}

func (s *script) pipe(caller string) *fakePipe { return s.s.callers[caller].pipe.(*fakePipe) }

func flagsOf(words []string) (flags int) {
	for _, x := range words {
		flags |= map[string]int{"error": wire.ReplyAppError, "cancelled": wire.ReplyCancelled, "exiting": wire.ReplyExiting, "last": wire.ReplyLastItem}[x]
	}
	return flags
}

// template CALLER NUMBER [name=] [returns=] [group=] [once] [method] [stream limit=]
func (s *script) template(words []string) {
	says(s.t, s.s.callers[words[1]], templateOf(uint64(s.number(words[2])), func(x *frame.Template) {
		x.Once, x.Group = slices.Contains(words, "once"), option(words, "group")
		if n := option(words, "returns"); n != "" {
			x.Returns = s.number(n)
		}
		if slices.Contains(words, "method") {
			x.Kind, x.FID, x.Blob, x.Method = frame.KindMethod, nil, nil, "m"
		}
		if slices.Contains(words, "stream") {
			x.Flow.Mode = frame.FlowStream
		}
		if n := option(words, "limit"); n != "" {
			x.Flow.Limit = uint64(s.number(n))
		}
	}))
}

// task|again|generator CALLER.NUMBER… [of=TEMPLATE] [lost=ITEM]
func (s *script) arrives(words []string) {
	template := uint64(1)
	if n := option(words, "of"); n != "" {
		template = uint64(s.number(n))
	}
	for _, name := range words[1:] {
		if strings.Contains(name, "=") {
			continue
		}
		c, seq := s.named(name)
		s.s.tasks[taskID(c, seq)] = name
		var resume *frame.Resume
		var had []int
		switch words[0] {
		case "again":
			had = []int{}
		case "generator":
			resume = new(frame.Resume)
			if n := option(words, "lost"); n != "" {
				resume = &frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{uint64(s.number(n))}}
			}
		}
		says(s.t, c, resumed(seq, template, resume, had))
	}
}

// await|next|head [GROUP]
func (s *script) takes(words []string) {
	group := ""
	if len(words) > 1 {
		group = words[1]
	}
	l := s.w.Lane(group)
	switch words[0] {
	case "await":
		s.threads++
		x := wait.New()
		s.s.names[x] = fmt.Sprintf("thread %d", s.threads)
		l.Await(x)
		return
	case "head":
		if k := s.w.Head(l); k != nil {
			s.s.notef("call %s", s.s.callName(k))
			return
		}
	default:
		switch k := s.w.Next(l); {
		case k == nil:
		case k.Assign != nil:
			s.s.notef("%s", k.Assign)
			return
		default:
			s.calls[s.s.callName(k)] = k
			s.s.notef("call %s", s.s.callName(k))
			return
		}
	}
	s.s.notef("none")
}

// taken CALLER.NUMBER ITEMS | quit CALLER.NUMBER | yield CALLER.NUMBER [stored] | room CALLER.NUMBER | feeds LIMIT
func (s *script) generator(words []string) {
	states := map[FeedState]string{FeedOpen: "open", FeedFull: "full", FeedClosed: "closed", FeedCancelled: "cancelled"}
	switch words[0] {
	case "feeds":
		s.w.LimitFeeds(uint64(s.number(words[1])))
	case "taken":
		c, seq := s.named(words[1])
		says(s.t, c, frame.AppendTaken(nil, seq, uint64(s.number(words[2]))))
	case "quit":
		c, seq := s.named(words[1])
		says(s.t, c, frame.AppendQuit(nil, seq))
	case "yield":
		k := s.call(words[1])
		y, err := s.w.Yield(k)
		if err != nil {
			s.t.Fatal(err)
		}
		if stored := slices.Contains(words, "stored"); y.Wanted {
			body := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
			s.w.SendItem(k, y.Index, 0, body, stored)
		}
		s.s.notef("%s: %s", words[1], states[s.w.FeedState(k)])
	case "room":
		x := wait.New()
		s.s.names[x] = words[1]
		s.w.AwaitRoom(s.call(words[1]), x)
	}
}

// actor NAME queues the constructor of an actor.
func (s *script) actor(name string) {
	id := ids.Actor{7}
	spec := append(templateOf(1, nil), taskOf(0, 1)...)
	if err := s.w.BecomeActor(&wire.ActorStart{ActorID: id[:], ClassName: name, Spec: spec}, nil); err != nil {
		s.t.Fatal(err)
	}
	s.s.tasks[s.w.main.queue[len(s.w.main.queue)-1].Task] = name
}
