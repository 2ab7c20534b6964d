package client

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
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
	// References that the task keeps are registered before its caller may let go.
	if c.unacked > 0 {
		c.awaitAcks()
	}
	e.answer(token, k, results, flags)
	return nil
}

// answer writes the reply frame; mu held, released while large results go to the arena.
func (e *executor) answer(token uint64, k *call, results []Value, flags int) {
	c := e.c
	us := time.Since(k.started).Microseconds()
	var body []byte
	n := k.tmpl.Returns
	if results == nil {
		n = 0
	}
	var nested []*own.Object
	for i := range n {
		v := &results[min(i, len(results)-1)] // an exception is every return
		total, _ := v.layout()
		if (total > MaxInline || len(body)+total > maxTogether && total > smallValue) && flags&wire.ReplyAppError == 0 {
			id := k.returnID(c, i)
			c.mu.Unlock()
			err := c.storeValue(id, v, total)
			c.mu.Lock()
			if err != nil {
				e.answerFault(token, k, fault.From(err))
				return
			}
			body = wire.AppendArray(body, 3)
			body = wire.AppendUint(body, wire.PlaceStore)
			body = wire.AppendUint(body, uint64(total))
		} else {
			body = wire.AppendArray(body, 3)
			body = wire.AppendUint(body, wire.PlaceInline)
			body = wire.AppendBinHeader(body, total)
			at := len(body)
			env := v.envelope(total)
			body = append(body[:at], env...)
		}
		body = wire.AppendArray(body, len(v.Nested))
		for _, id := range v.Nested {
			body = wire.AppendArray(body, 2)
			body = wire.AppendBin(body, id[:])
			o := c.table.Find(id)
			addr := ""
			if o != nil {
				c.table.Pin(o)
				nested = append(nested, o)
				addr = c.addrOf(o)
			}
			body = wire.AppendStr(body, addr)
		}
	}
	if nested != nil {
		c.hold(k.in.caller, k.task, nested)
	}
	e.send(token, k, flags, us, n, body)
}

func (k *call) returnID(c *Client, i int) ids.Object {
	var first ids.Object
	copy(first[:], k.task[:])
	return ids.NewObject(first.Count()+uint64(i), k.in.caller, c.info.Job, uint32(i+1))
}

// answerFault replies with a fault for every return.
func (e *executor) answerFault(token uint64, k *call, f *fault.Error) {
	if k.actor != nil {
		e.finishCall(token, k)
		e.c.push(wire.TActorReady, wire.ActorReady{ActorID: k.actor.ActorID, Incarnation: k.actor.Incarnation, Message: f.Message})
		return
	}
	o := own.Object{Fault: f}
	env := faultEnvelope(&o)
	var body []byte
	for range k.tmpl.Returns {
		body = wire.AppendArray(body, 3)
		body = wire.AppendUint(body, wire.PlaceInline)
		body = wire.AppendBin(body, env)
		body = wire.AppendArray(body, 0)
	}
	e.send(token, k, wire.ReplyAppError, 0, k.tmpl.Returns, body)
}

func (e *executor) send(token uint64, k *call, flags int, us int64, n int, body []byte) {
	in := k.in
	e.finishCall(token, k)
	if in.dead {
		return
	}
	b, at := wire.BeginFrame(in.out)
	b = wire.AppendArray(b, 5)
	b = wire.AppendUint(b, uint64(wire.OpReply))
	b = wire.AppendUint(b, uint64(k.seq))
	b = wire.AppendUint(b, uint64(flags))
	b = wire.AppendUint(b, uint64(us))
	b = wire.AppendArray(b, n)
	b = append(b, body...)
	in.out = wire.EndFrame(b, at)
	if len(e.queue) == 0 || len(in.out) >= batchBytes || flags&wire.ReplyExiting != 0 {
		e.c.flush(&in.conn)
	} else {
		e.c.touch(&in.conn)
	}
}

// finishCall forgets a call and what its arguments held.
func (e *executor) finishCall(token uint64, k *call) {
	delete(e.calls, token)
	e.busy--
	if e.canceled == k {
		e.canceled = nil
	}
	for _, o := range k.owned {
		e.c.table.Unpin(o)
	}
	if k.owned != nil {
		e.c.carryOut()
	}
	if e.lent && e.blocked == 0 && e.busy == 0 {
		e.takeBack()
	}
	if e.drained() {
		e.stop("released")
	}
}

// ActorReady reports the constructor's end to the head.
func (c *Client) ActorReady(token uint64, ok bool, message string, exception []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	k := e.calls[token]
	if k == nil || k.actor == nil {
		return fault.New(fault.BadRequest, "call %d is no constructor", token)
	}
	if c.unacked > 0 {
		c.awaitAcks()
	}
	e.finishCall(token, k)
	r := wire.ActorReady{ActorID: k.actor.ActorID, Incarnation: k.actor.Incarnation}
	if r.Message = message; !ok && len(exception) > 0 {
		v := Value{Fmt: FmtError, Meta: exception}
		n, _ := v.layout()
		r.Error = v.envelope(n)
	}
	c.push(wire.TActorReady, r)
	return nil
}

// flushHard sends everything, waiting for the peer to read; mu held.
func (c *Client) flushHard(k *conn, deadline time.Time) {
	for !k.dead && len(k.out) > 0 {
		k.stuck = false
		c.flush(k)
		if len(k.out) == 0 {
			return
		}
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		p := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(p, int(left.Milliseconds())+1)
	}
}

// cancel ends a queued call, or interrupts the running one.
func (e *executor) cancel(q *wire.Cancel) {
	var id ids.Task
	copy(id[:], q.TaskID)
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range e.queue {
		if k.task == id && k.tmpl != nil && k.actor == nil {
			e.queue = append(e.queue[:i], e.queue[i+1:]...)
			e.token++
			e.calls[e.token] = k
			e.busy++
			k.started = time.Now()
			e.answer(e.token, k, nil, wire.ReplyCancelled)
			return
		}
	}
	for _, k := range e.calls {
		if k.task != id {
			continue
		}
		if q.Force {
			c.push(wire.TWorkerExit, wire.WorkerExit{Reason: "its task was cancelled with force"})
			go func() {
				time.Sleep(5 * time.Millisecond) // let the message leave
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			}()
			return
		}
		k.cancel = true
		e.canceled = k
		if c.opts.Interrupt != nil {
			c.opts.Interrupt()
		}
		if q.Recursive {
			e.cancelChildren()
		}
		return
	}
	// It is still on its way through the other socket, or already answered.
	if len(e.early) > maxEarly {
		clear(e.early)
	}
	e.early[id] = true
}

// maxEarly bounds the cancellations that may wait for their tasks.
const maxEarly = 10_000

// cancelChildren cancels everything that this process has submitted.
func (e *executor) cancelChildren() {
	c := e.c
	var list []ids.Object
	c.table.Each(func(o *own.Object) bool {
		if _, ok := o.Producer.(*task); ok && !o.State.Ready() {
			list = append(list, o.ID)
		}
		return true
	})
	go func() {
		for _, id := range list {
			_ = c.Cancel(id, false, true)
		}
	}()
}

// CurrentCancelled returns the running task whose cancellation was asked, once.
func (c *Client) CurrentCancelled() (id ids.Task, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec == nil || c.exec.canceled == nil {
		return id, false
	}
	id = c.exec.canceled.task
	c.exec.canceled = nil
	return id, true
}
