package execute

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs testdata/*.txt: each line is an event, and the indented lines
// after it are the effects that it must have, in order. A script's time stands
// still but for its "time" events.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) (trace string) {
		synctest.Test(t, func(t *testing.T) {
			w, session := newWorker()
			s := &interpreter{t: t, w: w, s: session, calls: map[string]*Call{}}
			trace = script.Trace(t, src, func(e *script.Event) []string {
				session.mu.Lock()
				defer session.mu.Unlock()
				s.do(e)
				return session.takes()
			})
			session.mu.Lock()
			defer session.mu.Unlock()
			session.ended = true // timers that are left do nothing
		})
		return trace
	})
}

// interpreter executes the lines of one script. Calls are named by their caller and
// sequence number, as in "a.1".
type interpreter struct {
	t       *testing.T
	w       *Worker
	s       *fakeSession
	calls   map[string]*Call // that were taken out of the queue
	threads int
}

func (s *interpreter) call(name string) *Call {
	k := s.calls[name]
	if k == nil {
		s.t.Fatalf("call %s was not taken out of the queue", name)
	}
	return k
}

// named returns the caller and the sequence number that a call's name has.
func (s *interpreter) named(e *script.Event, name string) (*Caller, uint32) {
	caller, seq, _ := strings.Cut(name, ".")
	return s.s.callers[caller], uint32(e.Number(seq))
}

func (s *interpreter) do(e *script.Event) {
	w, note := s.w, s.s.notef
	switch e.Name {
	case "caller":
		s.s.joins(w, e.Word(0), map[string]string{"lease": wire.RoleLease, "actor": wire.RoleActor}[e.Word(1)])
	case "template":
		s.template(e)
	case "task", "again", "generator":
		s.arrives(e)
	case "assign":
		says(s.t, s.s.callers[e.Word(0)], frame.AppendAssign(nil, []byte("assignment")))
	case "gone":
		s.pipe(e.Word(0)).closed = true
		s.s.callers[e.Word(0)].Gone(nil)
	case "full", "writable":
		p := s.pipe(e.Word(0))
		p.full = e.Name == "full"
		p.Flush()
	case "groups":
		if err := w.DeclareGroups(e.Words, func() { note("begin the system group's thread") }); err != nil {
			s.t.Fatal(err)
		}
	case "limit":
		w.LimitBacklog(e.Int(0), e.Int(1))
	case "await", "next", "head":
		s.takes(e)
	case "begin":
		w.Begin(s.call(e.Word(0)))
	case "hold":
		for range e.Int(1) {
			s.call(e.Word(0)).Hold(new(refs.Object))
		}
	case "defer":
		note("deferred: %v", w.Defer(s.call(e.Word(0))))
	case "arrived":
		w.Arrived(s.call(e.Word(0)))
	case "lost":
		var lost []int
		for _, x := range e.Words[1:] {
			lost = append(lost, e.Number(x))
		}
		w.GiveLost(s.call(e.Word(0)), lost)
	case "answer":
		answers(w, s.call(e.Word(0)), flagsOf(e.Words[1:]))
	case "fault":
		w.AnswerFault(s.call(e.Word(0)), fault.New(fault.Internal, "it cannot run"))
	case "cancel":
		c, seq := s.named(e, e.Word(0))
		id := taskID(c, seq)
		w.Cancel(&wire.Cancel{TaskID: id[:], Force: e.Has("force"), Recursive: e.Has("recursive")})
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
		time.Sleep(time.Duration(e.Int(0)) * time.Millisecond)
		synctest.Wait()
		s.s.mu.Lock()
	case "taken", "quit", "yield", "room", "feeds":
		s.generator(e)
	case "actor":
		s.actor(e.Word(0))
	case "drain":
		w.Drain()
	case "allread":
		w.AllRead()
	case "stop":
		w.Stop(e.Word(0))
	case "leave":
		w.Leave(s.call(e.Word(0)).Token())
	case "state":
		x := w.Counts()
		note("%d run, %d wait, %d bytes, %d early, %d block, lent %v, full %v, ends %q", x.Running, x.Waiting, x.Backlog, x.Early, x.Blocked, x.Lent, x.Full, w.Ended())
	default:
		e.Unknown()
	}
}

func (s *interpreter) pipe(caller string) *fakePipe { return s.s.callers[caller].pipe.(*fakePipe) }

func flagsOf(words []string) (flags int) {
	for _, x := range words {
		flags |= map[string]int{"error": wire.ReplyAppError, "cancelled": wire.ReplyCancelled, "exiting": wire.ReplyExiting, "last": wire.ReplyLastItem}[x]
	}
	return flags
}

// template CALLER NUMBER [name=] [returns=] [group=] [once] [method] [stream limit=]
func (s *interpreter) template(e *script.Event) {
	says(s.t, s.s.callers[e.Word(0)], templateOf(uint64(e.Int(1)), func(x *frame.Template) {
		x.Once, x.Group = e.Has("once"), e.Option("group")
		if n := e.Option("returns"); n != "" {
			x.Returns = e.Number(n)
		}
		if e.Has("method") {
			x.Kind, x.FID, x.Blob, x.Method = frame.KindMethod, nil, nil, "m"
		}
		if e.Has("stream") {
			x.Flow.Mode = frame.FlowStream
		}
		if n := e.Option("limit"); n != "" {
			x.Flow.Limit = uint64(e.Number(n))
		}
	}))
}

// task|again|generator CALLER.NUMBER… [of=TEMPLATE] [lost=ITEM]
func (s *interpreter) arrives(e *script.Event) {
	template := uint64(1)
	if n := e.Option("of"); n != "" {
		template = uint64(e.Number(n))
	}
	for _, name := range e.Words {
		if strings.Contains(name, "=") {
			continue
		}
		c, seq := s.named(e, name)
		s.s.tasks[taskID(c, seq)] = name
		var resume *frame.Resume
		var had []int
		switch e.Name {
		case "again":
			had = []int{}
		case "generator":
			resume = new(frame.Resume)
			if n := e.Option("lost"); n != "" {
				resume = &frame.Resume{Have: frame.All, Taken: frame.All, Lost: []uint64{uint64(e.Number(n))}}
			}
		}
		says(s.t, c, resumed(seq, template, resume, had))
	}
}

// await|next|head [GROUP]
func (s *interpreter) takes(e *script.Event) {
	l := s.w.Lane(e.Word(0))
	switch e.Name {
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
func (s *interpreter) generator(e *script.Event) {
	states := map[FeedState]string{FeedOpen: "open", FeedFull: "full", FeedClosed: "closed", FeedCancelled: "cancelled"}
	switch e.Name {
	case "feeds":
		s.w.LimitFeeds(uint64(e.Int(0)))
	case "taken":
		c, seq := s.named(e, e.Word(0))
		says(s.t, c, frame.AppendTaken(nil, seq, uint64(e.Int(1))))
	case "quit":
		c, seq := s.named(e, e.Word(0))
		says(s.t, c, frame.AppendQuit(nil, seq))
	case "yield":
		k := s.call(e.Word(0))
		y, err := s.w.Yield(k)
		if err != nil {
			s.t.Fatal(err)
		}
		if stored := e.Has("stored"); y.Wanted {
			body := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
			s.w.SendItem(k, y.Index, 0, body, stored, 0)
		}
		s.s.notef("%s: %s", e.Word(0), states[s.w.FeedState(k)])
	case "room":
		x := wait.New()
		s.s.names[x] = e.Word(0)
		s.w.AwaitRoom(s.call(e.Word(0)), x)
	}
}

// actor NAME queues the constructor of an actor.
func (s *interpreter) actor(name string) {
	id := ids.Actor{7}
	spec := append(templateOf(1, nil), taskOf(0, 1)...)
	if err := s.w.BecomeActor(&wire.ActorStart{ActorID: id[:], ClassName: name, Spec: spec}, nil); err != nil {
		s.t.Fatal(err)
	}
	s.s.tasks[s.w.main.queue[len(s.w.main.queue)-1].Task] = name
}
