package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// AnswerFlags returns the flags of the answer that the program gives to a call,
// after what its cancellation makes of them.
func (w *Worker) AnswerFlags(k *Call, flags int) int {
	if k.cancel && flags == 0 && k.Tmpl.Kind == frame.KindMethod { // as Ray: of a cancelled call nothing is returned
		flags = wire.ReplyCancelled
	}
	if k.cancel && flags&wire.ReplyAppError != 0 && !slices.Contains(w.canceled, k) { // what it made of the interruption
		flags |= wire.ReplyNoRetry
	}
	return flags
}

// Returned says that the program has returned from a call with the flags, and
// that an answer follows.
func (w *Worker) Returned(k *Call, flags int) {
	k.returned = true
	w.ran.note(k, flags)
}

// Took returns how many microseconds the call has run. Of one that the program
// has returned from it is counted to what calls of its template mostly take.
func (w *Worker) Took(k *Call) (us int64) {
	took := time.Since(k.started)
	if k.returned {
		k.Tmpl.usual = typical(k.Tmpl.usual, took)
		w.ran.timed(k, took)
	}
	return took.Microseconds()
}

// Send answers a call, which is over with it, with n results that the body holds.
// Micros is how long it ran. Held is the number under which the reference table holds
// what the results refer to, 0 if they refer to nothing.
func (w *Worker) Send(k *Call, flags int, micros int64, n int, body []byte, held uint64) {
	w.Finish(k)
	p := k.Caller.pipe
	if p.Closed() || planted.Strikes(planted.LostReply) {
		return
	}
	x := frame.Reply{Seq: k.seq, Flags: uint64(flags) | heldFlag(held), Micros: uint64(micros), Held: held, Results: n}
	if flags&wire.ReplyLastItem != 0 {
		x.Item, _ = k.feed.raises()
	}
	p.Queue(frame.AppendReply(p.Buffer(), x, body))
	k.traced(trace.Answered)
	if len(w.main.queue) == 0 && !w.do.CollectsAnswers() || p.Unsent() >= shareBytes || flags&wire.ReplyExiting != 0 {
		p.Flush()
	} else if k.Caller.leased && k.returned { // its thread comes for the next one now, which sees to it
		p.SendLater()
	} else {
		p.SendSoon()
	}
}

// heldFlag is the flag of an answer that is held under a number.
func heldFlag(held uint64) uint64 {
	if held == 0 {
		return 0
	}
	return wire.ReplyHeld
}

// AnswerFault answers a call with a fault for every return. Of a constructor the
// daemon is told.
func (w *Worker) AnswerFault(k *Call, f *fault.Error) {
	if k.Actor != nil {
		w.Finish(k)
		w.do.ConstructorFailed(k.Actor, f)
		return
	}
	env := store.EncodeFault(f)
	var body []byte
	for range k.Tmpl.Returns {
		body = append(frame.AppendInlineResult(body, len(env)), env...)
		body = frame.AppendCount(body, 0)
	}
	w.Send(k, wire.ReplyAppError, 0, k.Tmpl.Returns, body, 0)
}

// dismiss answers a call as cancelled that has not begun and will not.
func (w *Worker) dismiss(k *Call) {
	w.run(k)
	w.Send(k, wire.ReplyCancelled, w.Took(k), 0, nil, 0)
}

// refuse answers a call of a group that this actor does not have.
func (w *Worker) refuse(k *Call) {
	w.run(k)
	w.AnswerFault(k, fault.New(fault.BadRequest, "%s: this actor has no concurrency group %q", k.Tmpl.Name, k.Tmpl.Group))
}
