package execute

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// fakeSession notes what the worker has it do. The mutex is the session's.
type fakeSession struct {
	mu      sync.Mutex
	seen    []string
	names   map[*wait.Wait]string
	tasks   map[ids.Task]string // as "caller.sequence number"
	callers map[string]*Caller
	deaf    bool // the program cannot be interrupted
	loop    bool // an event loop sends answers together
	unread  int  // how often LookSoon was called
	ended   bool
}

func newSession() *fakeSession {
	return &fakeSession{names: map[*wait.Wait]string{}, tasks: map[ids.Task]string{}, callers: map[string]*Caller{}}
}

// newWorker returns a worker whose session notes what it has to do.
func newWorker() (*Worker, *fakeSession) {
	s := newSession()
	return New(s, ids.JobOf(1)), s
}

func (s *fakeSession) notef(format string, a ...any) {
	s.seen = append(s.seen, fmt.Sprintf(format, a...))
}

// takes returns what was noted since the last call.
func (s *fakeSession) takes() []string {
	list := s.seen
	s.seen = nil
	return list
}

func (s *fakeSession) callName(k *Call) string { return s.tasks[k.Task] }

func (s *fakeSession) Wake(w *wait.Wait) {
	if w.End() {
		s.notef("wake %s", s.names[w])
		w.Call()
	}
}

func (s *fakeSession) LookSoon() { s.unread++ }

func (s *fakeSession) CollectsAnswers() bool { return s.loop }

func (s *fakeSession) Blocked(blocked bool) { s.notef("daemon: blocked %v", blocked) }

func (s *fakeSession) ConstructorFailed(a *wire.ActorStart, why *fault.Error) {
	s.notef("daemon: constructor of %s failed: %s", a.ClassName, why.Message)
}

func (s *fakeSession) InterruptProgram() bool {
	if !s.deaf {
		s.notef("interrupt the program")
	}
	return !s.deaf
}

func (s *fakeSession) CancelChildren(token uint64, force bool) <-chan struct{} {
	s.notef("cancel the children of call %d, force %v", token, force)
	return nil
}

func (s *fakeSession) EndByForce(k *Call, _ <-chan struct{}) {
	s.notef("end the process of %s", s.callName(k))
}

func (s *fakeSession) Unpin(held []*refs.Object) { s.notef("unpin %d", len(held)) }

func (s *fakeSession) CallerLeft(x refs.TaskSocket) { s.notef("%s left", x.Addr) }

func (s *fakeSession) NoMoreCalls() { s.notef("no more calls") }

func (s *fakeSession) AfterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			f()
		}
	})
}

// fakePipe is a caller's connection. A flush notes the frames that were queued.
type fakePipe struct {
	s       *fakeSession
	name    string
	out     []byte
	full    bool // the socket takes nothing
	paused  bool
	closed  bool
	writes  int
	pending string // how what waits is to be sent
	sent    func()
	told    func(seq uint32)               // is told of each call that a queued frame ends; may be nil
	item    func(seq uint32, index uint64) // is told of each item that is queued; set when told is
}

func (p *fakePipe) Buffer() []byte       { return p.out }
func (p *fakePipe) Unsent() int          { return len(p.out) }
func (p *fakePipe) FlushUntil(time.Time) { p.Flush() }
func (p *fakePipe) SendSoon()            { p.waits("soon") }
func (p *fakePipe) SendLater()           { p.waits("at the next poll") }
func (p *fakePipe) Sent()                {}
func (p *fakePipe) Closed() bool         { return p.closed }
func (p *fakePipe) Paused() bool         { return p.paused }
func (p *fakePipe) HearWakeup(us uint64) { p.s.notef("%s: wakes up in %d us", p.name, us) }
func (p *fakePipe) FD() int              { return -1 }

// waits notes how what is queued will be sent, once.
func (p *fakePipe) waits(how string) {
	if p.pending != how {
		p.pending = how
		p.s.notef("%s: is sent %s", p.name, how)
	}
}

// Queue tells of the calls that the new frames answer or give back.
func (p *fakePipe) Queue(b []byte) {
	added := b[len(p.out):]
	p.out = b
	if p.told == nil {
		return
	}
	_, err := frame.Each(added, func(b []byte) (err error) {
		r, op, n, err := frame.Open(b)
		switch op {
		case wire.OpReply:
			x, err := frame.ReadReply(&r, n)
			p.told(x.Seq)
			return err
		case wire.OpReturned:
			seqs, err := frame.ReadReturned(&r)
			for _, seq := range seqs {
				p.told(seq)
			}
			return err
		case wire.OpLost:
			seq, _, err := frame.ReadLost(&r)
			p.told(seq)
			return err
		case wire.OpItem:
			x, err := frame.ReadItem(&r, n)
			p.item(x.Seq, x.Index)
			return err
		}
		return err
	})
	if err != nil {
		panic(err)
	}
}

func (p *fakePipe) WhenSent(f func()) {
	if p.sent == nil {
		p.sent = f
	}
}

func (p *fakePipe) Pause() {
	p.paused = true
	p.s.notef("%s: is not read", p.name)
}

func (p *fakePipe) Resume() {
	p.paused = false
	p.s.notef("%s: is read", p.name)
}

func (p *fakePipe) Flush() {
	if p.full || p.closed || len(p.out) == 0 {
		return
	}
	p.writes++
	_, err := frame.Each(p.out, func(b []byte) error {
		p.s.notef("%s: %s", p.name, p.describe(b))
		return nil
	})
	if err != nil {
		panic(err)
	}
	p.out, p.pending = nil, ""
	if f := p.sent; f != nil {
		p.sent = nil
		f()
	}
}

// describe says what a frame of the worker is.
func (p *fakePipe) describe(b []byte) string {
	r, op, n, err := frame.Open(b)
	text := ""
	switch op {
	case wire.OpReply:
		var x frame.Reply
		x, err = frame.ReadReply(&r, n)
		text = fmt.Sprintf("reply %d, %d results%s", x.Seq, x.Results, flagNames(x.Flags))
		if x.Flags&wire.ReplyLastItem != 0 {
			text += fmt.Sprintf(", item %d", x.Item)
		}
	case wire.OpItem:
		var x frame.Item
		x, err = frame.ReadItem(&r, n)
		text = fmt.Sprintf("item %d of %d", x.Index, x.Seq)
	case wire.OpReturned:
		var seqs []uint32
		seqs, err = frame.ReadReturned(&r)
		text = "given back:" + strings.TrimSuffix(strings.ReplaceAll(fmt.Sprint(seqs), "[", " "), "]")
	case wire.OpLost:
		var seq uint32
		var lost []int
		seq, lost, err = frame.ReadLost(&r)
		text = fmt.Sprintf("call %d lost %v", seq, lost)
	case wire.OpHold:
		var group string
		var held bool
		group, held, err = frame.ReadHold(&r)
		text = fmt.Sprintf("group %q held %v", group, held)
	case wire.OpBlocked, wire.OpUnblocked:
		text = map[bool]string{true: "blocked", false: "goes on"}[op == wire.OpBlocked]
	default:
		text = fmt.Sprintf("op %d", op)
	}
	if err != nil {
		panic(err)
	}
	return text
}

func flagNames(flags uint64) (s string) {
	for _, x := range []struct {
		flag uint64
		name string
	}{{wire.ReplyCancelled, "cancelled"}, {wire.ReplyAppError, "error"}, {wire.ReplyNoRetry, "no retry"}, {wire.ReplyExiting, "exiting"}, {wire.ReplyLastItem, "last item"}} {
		if flags&x.flag != 0 {
			s += ", " + x.name
		}
	}
	return s
}

// joins adds a caller with the role.
func (s *fakeSession) joins(w *Worker, name, role string) (*Caller, *fakePipe) {
	p := &fakePipe{s: s, name: name}
	owner := ids.Owner{1, byte(len(s.callers) + 1)}
	c := w.AddCaller(p, &wire.Hello{Role: role, OwnerID: owner[:], Addr: name}, -1)
	s.callers[name] = c
	w.Greet(c)
	return c, p
}

// says has frames arrive from a caller.
func says(t *testing.T, c *Caller, frames ...[]byte) {
	t.Helper()
	for _, b := range frames {
		if used, err := c.Frames(b); err != nil || used != len(b) {
			t.Fatalf("%d of %d bytes are read: %v", used, len(b), err)
		}
	}
}

// templateOf is the frame of a template.
func templateOf(id uint64, change func(*frame.Template)) []byte {
	x := frame.Template{ID: id, Kind: frame.KindTask, FID: []byte("sixteen bytes id"), Name: "f", Returns: 1, Blob: []byte("code of f")}
	if change != nil {
		change(&x)
	}
	return frame.AppendTemplate(nil, &x)
}

// taskOf is the frame of a call without references.
func taskOf(seq uint32, template uint64) []byte { return resumed(seq, template, nil, nil) }

// resumed is the frame of a call. Resume says with what a generator goes on, had which results the caller has of a call that runs again.
func resumed(seq uint32, template uint64, resume *frame.Resume, had []int) []byte {
	b, at := frame.BeginTask(nil, seq, template, uint64(seq)*100, resume != nil || had != nil)
	b = frame.AppendCount(frame.AppendInline(b, []byte("arguments")), 0)
	switch {
	case resume != nil:
		b = frame.AppendResume(b, resume)
	case had != nil:
		b = frame.AppendHad(b, had)
	}
	return frame.End(b, at)
}

// generatorOf is the frame of a generator's template.
func generatorOf(id uint64, f frame.Flow) []byte {
	return templateOf(id, func(x *frame.Template) { x.Flow = f })
}

// taskID is the task that a caller's call with this sequence number is.
func taskID(c *Caller, seq uint32) (task ids.Task) {
	id := ids.NewObject(uint64(seq)*100, c.Owner, c.Job, 1)
	copy(task[:], id[:])
	return task
}

// begins takes the next call of the default lane and begins it.
func begins(t *testing.T, w *Worker) *Call {
	t.Helper()
	k := w.Next(&w.main)
	if k == nil {
		t.Fatal("no call waits")
	}
	w.Begin(k)
	return k
}

// answers answers a call as its program does.
func answers(w *Worker, k *Call, flags int) {
	flags = w.AnswerFlags(k, flags)
	n := k.Tmpl.Returns
	if flags&wire.ReplyCancelled != 0 {
		n = 0
	}
	w.Returned(k, flags)
	var body []byte
	for range n {
		body = frame.AppendCount(append(frame.AppendInlineResult(body, 1), 'v'), 0)
	}
	w.Send(k, flags, w.Took(k), n, body, 0)
}
