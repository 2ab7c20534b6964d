package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// bounce gives calls that have not started back to their caller.
func (in *inConn) bounce(ks []*call) {
	b, at := wire.BeginFrame(in.out)
	b = wire.AppendArray(b, 2)
	b = wire.AppendUint(b, uint64(wire.OpReturned))
	b = wire.AppendArray(b, len(ks))
	for _, k := range ks {
		b = wire.AppendUint(b, uint64(k.seq))
	}
	in.out = wire.EndFrame(b, at)
	in.c.flush(&in.conn)
}

// bounceAll gives back every task of a lease that has not started.
func (e *executor) bounceAll() {
	back := map[*inConn][]*call{}
	keep := e.queue[:0]
	for _, k := range e.queue {
		if k.in != nil && k.in.lease && k.tmpl != nil && !k.in.dead {
			back[k.in] = append(back[k.in], k)
		} else {
			keep = append(keep, k)
		}
	}
	clear(e.queue[len(keep):])
	e.queue = keep
	for in, ks := range back {
		in.bounce(ks)
	}
}

// overdue is how long the background may sleep before a long task's followers go back.
func (e *executor) overdue() time.Duration {
	if e.busy == 0 || len(e.queue) == 0 {
		return backgroundSlice
	}
	return max(0, bounceAfter-time.Since(e.started))
}

func (e *executor) bounceOverdue() {
	if e.busy > 0 && len(e.queue) > 0 && time.Since(e.started) > bounceAfter {
		e.bounceAll()
	}
}

// block: the running task waits for objects. Its CPUs are lent out and what
// is queued behind it goes back; mu held.
func (e *executor) block() {
	e.blocked++
	if e.blocked > 1 {
		return
	}
	e.bounceAll()
	e.tellState(wire.OpBlocked)
	e.c.push(wire.TBlocked, nil)
}

func (e *executor) unblock() {
	e.blocked--
	if e.blocked > 0 {
		return
	}
	e.tellState(wire.OpUnblocked)
	e.c.push(wire.TUnblocked, nil)
}

func (e *executor) tellState(op wire.Op) {
	for in := range e.conns {
		if !in.lease || in.dead {
			continue
		}
		b, at := wire.BeginFrame(in.out)
		b = wire.AppendArray(b, 1)
		b = wire.AppendUint(b, uint64(op))
		in.out = wire.EndFrame(b, at)
		e.c.flush(&in.conn)
	}
}
