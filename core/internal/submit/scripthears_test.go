package submit

import (
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/script"
	"github.com/vmihailenco/msgpack/v5"
)

// What workers, other processes and the daemon say in a script.

// says has a worker send frames.
func (p *scriptedPipe) says(b []byte) {
	if used, err := p.on.Frames(b); err != nil || used != len(b) {
		p.s.notef("%s: the frame is refused: %v", p.name, err)
	}
}

// hears is told of a frame that a worker has sent.
//
//	answer WORKER TASK [error] [stored] [cancelled] [exiting] [us=]
//	item WORKER TASK INDEX
//	back WORKER TASK…
//	misses WORKER TASK ARGUMENT…
//	blocked|unblocked WORKER
func (s *scripted) hears(e *script.Event) {
	p := s.socket(e.Word(0))
	seq := p.callOf[e.Word(1)]
	one := frame.AppendInlineResult(nil, 1)
	one = append(one, 7)
	if e.Has("stored") {
		one = frame.AppendStoredResult(nil, 1<<20)
	}
	one = frame.AppendCount(one, 0)
	switch e.Name {
	case "answer":
		us, stated := e.OptionNumber("us")
		if !stated {
			us = 100_000 // so long that a worker gets one task at a time
		}
		x := frame.Reply{Seq: seq, Micros: uint64(us), Results: 1}
		for word, flag := range map[string]uint64{"error": wire.ReplyAppError, "cancelled": wire.ReplyCancelled, "exiting": wire.ReplyExiting} {
			if e.Has(word) {
				x.Flags |= flag
			}
		}
		p.says(frame.AppendReply(nil, x, one))
	case "item":
		p.says(frame.AppendItem(nil, frame.Item{Seq: seq, Index: uint64(e.Int(2))}, one))
	case "back":
		b, at := frame.BeginReturned(nil, len(e.Words)-1)
		for _, name := range e.Words[1:] {
			b = frame.AppendSeq(b, p.callOf[name])
		}
		p.says(frame.End(b, at))
	case "misses":
		var lost []int
		for _, x := range e.Words[2:] {
			lost = append(lost, e.Number(x))
		}
		p.says(frame.AppendLost(nil, seq, lost))
	default:
		p.says(frame.AppendBlocked(nil, e.Name == "blocked"))
	}
}

// message is an answer with a body.
func (s *scripted) message(body any) *wire.Message {
	b, err := msgpack.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &wire.Message{Kind: wire.Reply, Body: b}
}

// waits returns what waits for the answer to a question, which is asked no more.
func (s *scripted) waits(question string) func(*wire.Message, error) {
	f := s.waiting[question]
	if f == nil {
		s.t.Fatalf("nobody asks: %s", question)
	}
	delete(s.waiting, question)
	return f
}

// answered gives a question that was asked an empty answer, or an error: "told QUESTION", "fails QUESTION".
func (s *scripted) answered(e *script.Event) {
	question := e.Line[len(e.Name)+1:]
	var err error
	if e.Name == "fails" {
		err = errors.New("it does not arrive")
	}
	s.waits(question)(s.message(nil), err)
}

// actor is told what becomes of an actor.
//
//	actor NAME                             a handle of it comes here
//	alive NAME INCARNATION                 answers where it is
//	dead NAME                              answers where it is
//	restarting|lives NAME [begun=TASK]     answers what became of the incarnation that is gone
func (s *scripted) actor(e *script.Event) {
	name := e.Word(0)
	switch e.Name {
	case "actor":
		a := s.OpenActor(ids.NewActor(s.Job), name, 0)
		a.CountHandle(false)
		s.actors[name] = a
	case "alive":
		s.waits("where "+name)(s.message(wire.ActorState{State: wire.ActorAlive, Incarnation: uint64(e.Int(1)), Addr: name}), nil)
	case "dead":
		s.waits("where "+name)(s.message(wire.ActorState{State: wire.ActorDead, Cause: string(fault.ActorDied), Message: "it died"}), nil)
	default:
		f := wire.ActorDeath{State: wire.ActorRestarting, Message: "it died", Known: e.Has("begun")}
		if e.Name == "lives" {
			f.State = wire.ActorAlive
		}
		if f.Known {
			f.Started = s.task(e.Option("begun")).Seq
		}
		s.waits("what became of "+name)(s.message(f), nil)
	}
}

// leaseOf is the lease that an event names: LEASE [at=NODE].
func leaseOf(e *script.Event) uint64 {
	node, _ := e.OptionNumber("at")
	return uint64(node)<<32 | uint64(e.Int(0))
}

// brokenLease is what a daemon says of a lease whose worker has ended. Another node's daemon may know which
// task the worker began last.
//
//	broken LEASE [at=NODE [begun=TASK|begun=none]] [code=]
func (s *scripted) brokenLease(e *script.Event) *wire.LeaseBroken {
	b := &wire.LeaseBroken{LeaseID: leaseOf(e), Detail: "it ended", Code: e.Option("code"), Bytes: 1 << 20}
	if last := e.Option("begun"); last != "" {
		b.Known = true
		if last != "none" {
			b.Begun = s.socket("w" + e.Word(0) + "at" + e.Option("at")).callOf[last]
		}
	}
	return b
}

// hearsOfLeases is told of leases by the own daemon, or by that of another node.
//
//	grant LEASE FUNCTION [at=NODE] [choice=] [better] [never]
//	offer N FUNCTION at=NODE ticket= [choice=]
//	refuse N FUNCTION at=NODE
//	small FUNCTION at=NODE          the node is too small for the function
//	nothing FUNCTION at=NODE        the function's environment cannot be made there
//	lost NODE
func (s *scripted) hearsOfLeases(e *script.Event) {
	at, away := e.OptionNumber("at")
	choice, _ := e.OptionNumber("choice")
	node := uint32(at)
	class := func(i int) uint32 { return s.template(e.Word(i)).Class.ID }
	switch e.Name {
	case "grant":
		g := &wire.LeaseGrant{ClassID: class(1), LeaseID: leaseOf(e), Addr: "w" + e.Word(0), Choice: choice, Better: e.Has("better"), Never: e.Has("never")}
		if away {
			g.Addr += "at" + e.Option("at")
			s.LeaseGrantedAt(node, g)
		} else {
			s.LeaseGranted(g)
		}
	case "offer":
		ticket, _ := e.OptionNumber("ticket")
		s.LeaseOffered(&wire.LeaseOffer{ClassID: class(1), Node: node, N: e.Int(0), Choice: choice, Ticket: uint64(ticket)})
	case "refuse":
		s.LeaseRefused(node, &wire.LeaseRefused{ClassID: class(1), N: e.Int(0)})
	case "small":
		s.ClassTroubleAt(node, class(0), fault.New(fault.TaskUnschedulable, "it is too small"))
	case "nothing":
		s.ClassTroubleAt(node, class(0), fault.New(fault.RuntimeEnvSetup, "it cannot be made"))
	case "lost":
		s.HomeLost(uint32(e.Int(0)), errors.New("it has lost its power"))
	}
}
