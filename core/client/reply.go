package client

import (
	"errors"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// Reply answers a call with its results.
func (c *Client) Reply(token uint64, results []Value, flags int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k := e.calls[token]
	if k == nil {
		return fault.New(fault.BadRequest, "reply to call %d, which does not run", token)
	}
	if k.cancel && flags == 0 && k.tmpl.Kind == KindMethod { // as Ray: of a cancelled call nothing is returned
		flags = wire.ReplyCancelled
	}
	if k.cancel && flags&wire.ReplyAppError != 0 && !slices.Contains(e.canceled, k) { // what it made of the interruption
		flags |= wire.ReplyNoRetry
	}
	if flags&wire.ReplyCancelled != 0 {
		results = nil
	}
	// References that the task keeps are registered before its caller may let go.
	if c.table.Unregistered() > 0 && !c.registered() {
		flags |= wire.ReplyUnregistered
	}
	k.returned = true
	e.ran.note(k, flags)
	e.answer(token, k, results, flags)
	return nil
}

// answer writes the reply frame; mu held, released while large results go to the arena.
func (e *executor) answer(token uint64, k *call, results []Value, flags int) {
	c := e.c
	took := time.Since(k.started)
	if k.returned {
		k.tmpl.usual = typical(k.tmpl.usual, took)
	}
	us := took.Microseconds()
	var body []byte
	n := k.tmpl.Returns
	switch {
	case results == nil:
		n = 0
	case flags&wire.ReplyLastItem != 0:
		n = len(results)
	}
	var nested []*refs.Object
	for i := range n {
		at, wanted := k.place(i, flags)
		if !wanted {
			body = frame.AppendHadResult(body)
			continue
		}
		v := &results[min(i, len(results)-1)] // an exception is every return
		var err error
		if body, nested, err = e.appendResult(body, nested, k, at, v, false); err != nil {
			for _, o := range nested {
				c.table.Unpin(o)
			}
			c.freeReturns(k, i, flags)
			if errors.Is(err, errTakenBack) {
				e.send(token, k, wire.ReplyCancelled, us, 0, nil)
				return
			}
			e.answerFault(token, k, unstored(v, err))
			return
		}
	}
	if err := checkAnswer(k, body); err != nil {
		for _, o := range nested {
			c.table.Unpin(o)
		}
		c.freeReturns(k, n, flags)
		e.answerFault(token, k, fault.From(err))
		return
	}
	switch {
	case nested == nil:
	case k.in.Closed(): // nobody reads the answer
		c.unpinAll(nested)
		c.carryOut()
	default:
		c.hold(k.in.caller, k.task, nested)
	}
	e.send(token, k, flags, us, n, body)
}

// place returns which return of the call the i-th result of its answer is. It is not wanted
// when the caller has that from an earlier run: then neither a value nor an exception may take its place.
func (k *call) place(i, flags int) (at int, wanted bool) {
	switch {
	case flags&wire.ReplyLastItem == 0:
		return i, !k.had[i]
	case i == 0: // the exception, an item; the generator's own value follows
		item, wanted := k.feed.raises()
		return int(item) + 1, wanted
	}
	return 0, true
}

// checkAnswer refuses results that are too many, or contain too many references, for one message.
func checkAnswer(k *call, body []byte) error {
	if len(body) > maxAnswer {
		return fault.New(fault.BadRequest, "what %s returned does not fit one message: it has %d bytes without the large values, and at most %d are allowed. It contains too many references, or num_returns is too large: return them in several pieces, from a generator for instance", k.tmpl.Name, len(body), maxAnswer)
	}
	return nil
}

// maxAnswer bounds what an answer says of its results, within a frame.
const maxAnswer = wire.MaxData - 1<<10

// appendResult encodes the value of the call's return with the index at; mu held, released while a large value goes to the
// arena. A signal may end that wait for an item of a generator, whose code runs; the call's cancellation may end it for an answer.
func (e *executor) appendResult(body []byte, nested []*refs.Object, k *call, at int, v *Value, item bool) ([]byte, []*refs.Object, error) {
	c := e.c
	total, _ := v.layout()
	size := len(body) + frame.ResultHead + total
	if total > MaxInline || size > maxTogether && total > smallValue || size > maxInFrame {
		id := k.returnID(at)
		var stop <-chan struct{}
		if !item {
			stop = k.stopped()
		}
		c.mu.Unlock()
		err := c.storeResult(id, v, total, item, stop)
		c.mu.Lock()
		if err != nil {
			return body, nested, err
		}
		body = frame.AppendStoredResult(body, uint64(total))
	} else {
		body = frame.AppendInlineResult(body, total)
		body = store.AppendEnvelope(body, store.Format(v.Fmt), v.Meta, v.Bufs...)
	}
	body = frame.AppendCount(body, len(v.Nested))
	for i, id := range v.Nested {
		o := c.table.Find(id)
		addr := ""
		if o != nil {
			c.table.Pin(o)
			nested = append(nested, o)
			addr = c.addrOf(o)
		}
		body = frame.AppendContained(body, &v.Nested[i], addr)
	}
	return body, nested, nil
}

func (k *call) returnID(i int) ids.Object {
	var first ids.Object
	copy(first[:], k.task[:])
	return ids.NewObject(first.Count()+uint64(i), k.in.caller, k.in.job, uint32(i+1))
}

// answerFault replies with a fault for every return.
func (e *executor) answerFault(token uint64, k *call, f *fault.Error) {
	if k.actor != nil {
		e.finishCall(token, k)
		e.c.push(wire.TActorReady, wire.ActorReady{ActorID: k.actor.ActorID, Incarnation: k.actor.Incarnation, Message: f.Message})
		return
	}
	env := encodeFault(f)
	var body []byte
	for range k.tmpl.Returns {
		body = append(frame.AppendInlineResult(body, len(env)), env...)
		body = frame.AppendCount(body, 0)
	}
	e.send(token, k, wire.ReplyAppError, 0, k.tmpl.Returns, body)
}

func (e *executor) send(token uint64, k *call, flags int, us int64, n int, body []byte) {
	in := k.in
	e.finishCall(token, k)
	if in.Closed() || planted.Strikes(planted.LostReply) {
		return
	}
	x := frame.Reply{Seq: k.seq, Flags: uint64(flags), Micros: uint64(us), Results: n}
	if flags&wire.ReplyLastItem != 0 {
		x.Item, _ = k.feed.raises()
	}
	in.Queue(frame.AppendReply(in.Buffer(), x, body))
	k.stamp(trace.Answered, in.FD())
	if len(e.queue) == 0 && !e.c.loop.later(e.c) || in.Unsent() >= batchBytes || flags&wire.ReplyExiting != 0 {
		in.Flush()
	} else if in.lease && k.returned { // its thread comes for the next one now, which sees to it
		in.SendLater()
	} else {
		in.SendSoon()
	}
}

// finishCall forgets a call and what its arguments held.
func (e *executor) finishCall(token uint64, k *call) {
	delete(e.calls, token)
	e.busy--
	if k.cancel {
		e.canceled = slices.DeleteFunc(e.canceled, func(x *call) bool { return x == k })
	}
	if k.feed != nil {
		e.endFeed(k)
	}
	e.c.letGoOfArguments(k)
	if e.lent && e.blocked == 0 && e.busy == 0 {
		e.takeBack()
	}
	if e.drained() {
		e.stop("released")
	}
	e.leaveIfLast()
}

// ActorReady reports the constructor's end to the head. Brief says in short what
// the exception is; empty when that is not large.
func (c *Client) ActorReady(token uint64, ok bool, message string, exception, brief []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k := e.calls[token]
	if k == nil || k.actor == nil {
		return fault.New(fault.BadRequest, "call %d is no constructor", token)
	}
	unsettled := c.table.Unregistered() > 0 && !c.registered()
	e.finishCall(token, k)
	r := wire.ActorReady{ActorID: k.actor.ActorID, Incarnation: k.actor.Incarnation, Unregistered: unsettled}
	if r.Message = message; !ok && len(exception) > 0 {
		v := Value{Fmt: FmtError, Meta: exception}
		if len(brief) > 0 {
			v = c.constructorRaised(k.actor, &v, brief)
		}
		n, _ := v.layout()
		r.Error = v.envelope(n)
	}
	c.push(wire.TActorReady, r)
	return nil
}
