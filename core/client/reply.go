package client

import (
	"errors"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// Reply answers a call with its results.
func (c *Client) Reply(token uint64, results []Value, flags int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k := e.Call(token)
	if k == nil {
		return fault.New(fault.BadRequest, "reply to call %d, which does not run", token)
	}
	flags = e.AnswerFlags(k, flags)
	if flags&wire.ReplyCancelled != 0 {
		results = nil
	}
	// References that the task keeps are registered before its caller may let go.
	if c.table.Unregistered() > 0 && !c.registered() {
		flags |= wire.ReplyUnregistered
	}
	e.Returned(k, flags)
	c.answer(k, results, flags)
	return nil
}

// answer writes the reply frame; mu held, released while large results go to the arena.
func (c *Client) answer(k *execute.Call, results []Value, flags int) {
	e := c.exec
	us := e.Took(k)
	var body []byte
	n := k.Tmpl.Returns
	switch {
	case results == nil:
		n = 0
	case flags&wire.ReplyLastItem != 0:
		n = len(results)
	}
	var nested []*refs.Object
	for i := range n {
		at, wanted := k.Place(i, flags)
		if !wanted {
			body = frame.AppendHadResult(body)
			continue
		}
		v := &results[min(i, len(results)-1)] // an exception is every return
		var err error
		if body, nested, err = c.appendResult(body, nested, k, at, v, false); err != nil {
			for _, o := range nested {
				c.table.Unpin(o)
			}
			c.freeReturns(k, i, flags)
			if errors.Is(err, errTakenBack) {
				e.Send(k, wire.ReplyCancelled, us, 0, nil)
				return
			}
			e.AnswerFault(k, unstored(v, err))
			return
		}
	}
	if err := checkAnswer(k, body); err != nil {
		for _, o := range nested {
			c.table.Unpin(o)
		}
		c.freeReturns(k, n, flags)
		e.AnswerFault(k, fault.From(err))
		return
	}
	switch {
	case nested == nil:
	case k.Unread(): // nobody reads the answer
		c.unpinAll(nested)
		c.carryOut()
	default:
		c.hold(k.Caller.Owner, k.Task, nested)
	}
	e.Send(k, flags, us, n, body)
}

// checkAnswer refuses results that are too many, or contain too many references, for one message.
func checkAnswer(k *execute.Call, body []byte) error {
	if len(body) > maxAnswer {
		return fault.New(fault.BadRequest, "what %s returned does not fit one message: it has %d bytes without the large values, and at most %d are allowed. It contains too many references, or num_returns is too large: return them in several pieces, from a generator for instance", k.Tmpl.Name, len(body), maxAnswer)
	}
	return nil
}

// maxAnswer bounds what an answer says of its results, within a frame.
const maxAnswer = wire.MaxData - 1<<10

// appendResult encodes the value of the call's return with the index at; mu held, released while a large value goes to the
// arena. A signal may end that wait for an item of a generator, whose code runs; the call's cancellation may end it for an answer.
func (c *Client) appendResult(body []byte, nested []*refs.Object, k *execute.Call, at int, v *Value, item bool) ([]byte, []*refs.Object, error) {
	total, _ := v.layout()
	size := len(body) + frame.ResultHead + total
	if total > MaxInline || size > maxTogether && total > smallValue || size > maxInFrame {
		id := k.ReturnID(at)
		var stop <-chan struct{}
		if !item {
			stop = k.Stopped()
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

// ActorReady reports the constructor's end to the head. Brief says in short what
// the exception is; empty when that is not large.
func (c *Client) ActorReady(token uint64, ok bool, message string, exception, brief []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k := e.Call(token)
	if k == nil || k.Actor == nil {
		return fault.New(fault.BadRequest, "call %d is no constructor", token)
	}
	unsettled := c.table.Unregistered() > 0 && !c.registered()
	e.Finish(k)
	r := wire.ActorReady{ActorID: k.Actor.ActorID, Incarnation: k.Actor.Incarnation, Unregistered: unsettled}
	if r.Message = message; !ok && len(exception) > 0 {
		v := Value{Fmt: FmtError, Meta: exception}
		if len(brief) > 0 {
			v = c.constructorRaised(k.Actor, &v, brief)
		}
		n, _ := v.layout()
		r.Error = v.envelope(n)
	}
	c.push(wire.TActorReady, r)
	return nil
}
