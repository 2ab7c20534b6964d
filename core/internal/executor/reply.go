package executor

import (
	"errors"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Reply answers a call with its results.
func (x *Executor) Reply(token uint64, results []Value, flags int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	k := e.Call(token)
	if k == nil {
		return fault.New(fault.BadRequest, "reply to call %d, which does not run", token)
	}
	flags = e.AnswerFlags(k, flags)
	if flags&wire.ReplyCancelled != 0 {
		results = nil
	}
	// References that the task keeps are registered before its caller may let go.
	if x.table.Unregistered() > 0 && !x.borrows.AwaitRegistered() {
		flags |= wire.ReplyUnregistered
	}
	e.Returned(k, flags)
	x.answer(k, results, flags)
	return nil
}

// answer writes the reply frame; mu held, released while large results go to the arena.
func (x *Executor) answer(k *execute.Call, results []Value, flags int) {
	e := x.exec
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
		if body, nested, err = x.AppendResult(body, nested, k, at, v, false); err != nil {
			for _, o := range nested {
				x.table.Unpin(o)
			}
			x.freeReturns(k, i, flags)
			if errors.Is(err, nodestore.ErrTakenBack) {
				e.Send(k, wire.ReplyCancelled, us, 0, nil, 0)
				return
			}
			e.AnswerFault(k, envelope.Unstored(v, err))
			return
		}
	}
	if err := checkAnswer(k, body); err != nil {
		for _, o := range nested {
			x.table.Unpin(o)
		}
		x.freeReturns(k, n, flags)
		e.AnswerFault(k, fault.From(err))
		return
	}
	held := uint64(0)
	switch {
	case nested == nil:
	case k.Unread(): // nobody reads the answer
		x.table.UnpinAll(nested)
		x.table.CarryOut()
	default:
		held = x.table.HoldResult(k.Caller.Socket(), nested)
	}
	e.Send(k, flags, us, n, body, held)
}

// freeReturns frees the first n results of an answer, which were stored before the
// next could not be. It leaves those alone that the caller has had from an earlier run.
func (x *Executor) freeReturns(k *execute.Call, n, flags int) {
	var list [][]byte
	for i := range n {
		if at, wanted := k.Place(i, flags); wanted {
			list = append(list, k.ReturnID(at).Raw())
		}
	}
	if len(list) > 0 {
		x.objects.PushDaemon(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
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

// AppendResult encodes the value of the call's return with the index at; mu held, released while a large value goes to the
// arena. A signal may end that wait for an item of a generator, whose code runs; the call's cancellation may end it for an answer.
func (x *Executor) AppendResult(body []byte, nested []*refs.Object, k *execute.Call, at int, v *Value, item bool) ([]byte, []*refs.Object, error) {
	total := v.Size()
	size := len(body) + frame.ResultHead + total
	if total > frame.MaxInline || size > frame.MaxTogether && total > frame.SmallValue || size > frame.MaxInFrame {
		id := k.ReturnID(at)
		how := nodestore.Writing{Program: item}
		if !item {
			how.Stop = k.Stopped()
		}
		if err := x.local.WriteResult(id, v, total, how); err != nil {
			return body, nested, err
		}
		body = frame.AppendStoredResult(body, uint64(total))
	} else {
		body = frame.AppendInlineResult(body, total)
		body = v.Append(body)
	}
	body = frame.AppendCount(body, len(v.Nested))
	for i, id := range v.Nested {
		o := x.table.Find(id)
		addr := ""
		if o != nil {
			x.table.Pin(o)
			nested = append(nested, o)
			addr = x.table.AddrOf(o)
		}
		body = frame.AppendContained(body, &v.Nested[i], addr)
	}
	return body, nested, nil
}

// ActorReady reports the constructor's end to the head. Message is why it failed, or what the actor's __repr__ returns. Brief says in short what
// the exception is; empty when that is not large.
func (x *Executor) ActorReady(token uint64, ok bool, message string, exception, brief []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	k := e.Call(token)
	if k == nil || k.Actor == nil {
		return fault.New(fault.BadRequest, "call %d is no constructor", token)
	}
	unsettled := x.table.Unregistered() > 0 && !x.borrows.AwaitRegistered()
	e.Finish(k)
	r := wire.ActorReady{ActorID: k.Actor.ActorID, Incarnation: k.Actor.Incarnation, Unregistered: unsettled}
	if ok {
		r.Repr = strings.ToValidUTF8(message[:min(len(message), wire.MaxRepr)], "")
	} else {
		r.Message = message
	}
	if !ok && len(exception) > 0 {
		v := Value{Fmt: uint8(store.FormatError), Meta: exception}
		if len(brief) > 0 {
			v = x.constructorRaised(k.Actor, &v, brief)
		}
		n := v.Size()
		r.Error = v.Envelope(n)
	}
	x.objects.PushDaemon(wire.TActorReady, r)
	return nil
}
