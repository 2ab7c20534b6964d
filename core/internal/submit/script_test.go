package submit

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs testdata/*.txt: each line is an event, and the indented lines
// after it are the effects that it must have, in order. A script's time stands
// still but for its "time" events.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) (trace string) {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted(newQuiet(t))
			trace = script.Trace(t, src, func(e *script.Event) []string {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.do(e)
				return s.take()
			})
		})
		return trace
	})
}

func (s *scripted) task(name string) *Task {
	t := s.tasks[name]
	if t == nil {
		s.t.Fatalf("there is no task %s", name)
	}
	return t
}

// socket returns the socket to a worker.
func (s *scripted) socket(name string) *scriptedPipe {
	p := s.sockets[name]
	if p == nil {
		s.t.Fatalf("no socket to %s was opened", name)
	}
	return p
}

// template returns the template of a function or method by its name.
func (s *scripted) template(name string) *Template {
	for _, t := range s.AllTemplates() {
		if t.Name == name {
			return t
		}
	}
	s.t.Fatalf("there is no function %s", name)
	return nil
}

func (s *scripted) do(e *script.Event) {
	switch e.Name {
	case "function", "method":
		s.defines(e)
	case "call":
		s.submits(e)
	case "hold":
		s.table.Ref(s.table.FindOwned(s.task(e.Word(0)).First))
	case "drop":
		s.table.Unref(s.table.FindOwned(s.task(e.Word(0)).First), 1)
		s.table.CarryOut()
	case "grant", "offer", "refuse", "small", "nothing", "lost":
		s.hearsOfLeases(e)
	case "open":
		p := s.socket(e.Word(0))
		if p.on.Unwanted() {
			s.notef("nobody wants it any more")
			return
		}
		p.on.Connected(p, nil)
	case "refused":
		s.socket(e.Word(0)).on.Connected(nil, errors.New("nobody is there"))
	case "begins":
		p := s.socket(e.Word(0))
		p.mark.Set(p.callOf[e.Word(1)])
	case "answer", "item", "back", "misses", "blocked", "unblocked":
		s.hears(e)
	case "breaks":
		p := s.socket(e.Word(0))
		p.ended, p.refuse = true, e.Has("refused")
		p.on.Gone(errors.New("the end"))
	case "broken":
		s.LeaseBroken(s.brokenLease(e))
	case "recall":
		s.LeaseRecalled(leaseOf(e))
	case "wanted":
		s.LeaseWanted(leaseOf(e))
	case "trouble":
		code := fault.Internal
		if e.Has("infeasible") {
			code = fault.TaskUnschedulable
		}
		s.ClassTrouble(s.template(e.Word(0)).Class.ID, fault.New(code, "no worker can be had"))
	case "cancel":
		k, _, err := s.CancelObject(s.table.FindOwned(s.task(e.Word(0)).First), e.Has("force"), false, time.Now())
		if err != nil {
			s.notef("refused: %v", fault.CodeOf(err))
		} else if k == nil {
			s.notef("there is nothing to wait for")
		}
	case "told", "fails":
		s.answered(e)
	case "take":
		_, state, err := s.TakeItem(s.table.FindOwned(s.task(e.Word(0)).First).ID)
		if err != nil {
			s.notef("refused: %v", fault.CodeOf(err))
			return
		}
		s.notef("%s", []string{"nothing has come", "an item", "it has failed", "it is over"}[state])
	case "leave":
		s.LeaveStream(s.table.FindOwned(s.task(e.Word(0)).First).ID)
	case "retire":
		s.RetireTemplate(s.template(e.Word(0)))
	case "actor", "alive", "dead", "restarting", "lives":
		s.actor(e)
	case "time":
		s.mu.Unlock()
		time.Sleep(time.Duration(e.Int(0)) * time.Millisecond)
		synctest.Wait()
		s.mu.Lock()
	case "state":
		n := s.Counts()
		s.notef("unfinished %d, sent %d, delayed %d, leases %d, classes %d", n.Unfinished, s.Sent, n.Delayed, n.Leases, n.Classes)
	default:
		e.Unknown()
	}
}

// function|method NAME [retries=] [raises] [cpus=] [calls=] [after=MS alternatives=] [limit=]
func (s *scripted) defines(e *script.Event) {
	number := func(key string) int { n, _ := e.OptionNumber(key); return n }
	t := &Template{Name: e.Word(0), FID: fmt.Appendf(nil, "%-16s", e.Word(0)), Blob: []byte("code"), Returns: 1, MaxRetries: number("retries"), RetryErrs: e.Has("raises"),
		MaxCalls: number("calls"), AfterMs: int64(number("after"))}
	if e.Name == "method" {
		t.Kind, t.FID, t.Blob = frame.KindMethod, nil, nil
	}
	if n := number("cpus"); n > 0 {
		t.Resources = map[string]int64{"CPU": int64(n)}
	}
	for i := range number("alternatives") {
		t.Fallback = append(t.Fallback, &Template{Resources: map[string]int64{"GPU": int64(i + 1)}})
	}
	if e.Has("limit") {
		t.Flow = frame.Flow{Mode: frame.FlowStream, Limit: uint64(number("limit"))}
	}
	if _, err := s.NewTemplate(t); err != nil {
		s.t.Fatal(err)
	}
}

// call FUNCTION TASK… [of=ACTOR] [needs=TASK,…]
func (s *scripted) submits(e *script.Event) {
	for _, name := range e.Words[1:] {
		if e.Option("of") != "" && name == "of="+e.Option("of") || name == "needs="+e.Option("needs") {
			continue
		}
		t := s.NewCall(s.template(e.Word(0)), 0, 0)
		for _, dep := range e.List(e.Option("needs")) {
			o := s.table.FindOwned(s.task(dep).First)
			s.table.Pin(o)
			t.AddDependency(o)
		}
		s.tasks[name], s.seen[name] = t, "pending"
		s.MakeReturns(t, 0)
		s.names[t.First], s.order = name, append(s.order, name)
		if a := s.actors[e.Option("of")]; a != nil {
			s.SubmitCall(a, t)
		} else {
			s.Submit(t)
		}
	}
}
