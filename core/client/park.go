package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// An actor's call that takes something lost is parked: it stays at the head of
// the queue, and its caller's calls behind it do not overtake it. Only those do
// that run again for lost results: what it waits for may be one of these.

// next takes the call out of a lane's queue whose turn it is; nil: there is none, or nothing is to begin any more.
func (e *executor) next(l *lane) *call {
	if e.leaving {
		return nil
	}
	return l.next()
}

// next takes the call out of the queue whose turn it is, nil: there is none.
func (l *lane) next() *call {
	if len(l.queue) == 0 {
		return nil
	}
	at := 0
	if l.parks > 0 {
		if at = l.overtaking(); at < 0 {
			return nil
		}
	}
	k := l.queue[at]
	if at > 0 {
		l.queue = slices.Delete(l.queue, at, at+1)
		return k
	}
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return k
}

// overtaking finds the first call that does not have to wait for a parked one.
func (l *lane) overtaking() int {
	held := map[*inConn]bool{}
	for i, k := range l.queue {
		switch {
		case k.parked:
			held[k.in] = true
		case k.again || !held[k.in]:
			return i
		}
	}
	return -1
}

// mayPark reports whether the loss of an argument is to be waited for in the
// queue: not again for one that is not to be had, or was lost again and again.
func (e *executor) mayPark(k *call, p frame.Place) bool {
	if k.misses == 0 {
		return true
	}
	o := e.c.table.Find(p.ID)
	return k.misses < maxMisses && (o == nil || o.State() == refs.Stored || o.State() == refs.Pending)
}

// toCome reports whether an argument of an actor's call was not there when the
// call was sent, since it was being looked for, and still is not.
func (e *executor) toCome(k *call, p frame.Place) bool {
	if p.Envelope != nil || p.Size > 0 || k.in.lease || k.actor != nil || k.misses >= maxMisses {
		return false
	}
	o := e.c.table.Find(p.ID)
	return o == nil || o.State() == refs.Pending
}

// park puts a call back that has not begun, until what it takes is there; mu held.
func (e *executor) park(token uint64, k *call, lost []int) {
	c := e.c
	if k.cancel {
		e.answer(token, k, nil, wire.ReplyCancelled)
		return
	}
	if k.in.Closed() {
		e.finishCall(token, k)
		return
	}
	delete(e.calls, token)
	e.busy--
	if e.lent && e.blocked == 0 && e.busy == 0 {
		e.takeBack()
	}
	k.taken = false
	k.misses++
	k.parked = true
	l := e.laneOf(k)
	l.parks++
	l.queue = append([]*call{k}, l.queue...)
	if l.index.calls == nil {
		l.index.calls = map[ids.Task]*call{}
	}
	l.index.calls[k.task] = k
	w, missing := wait.Calling(func() {
		e.unpark(k)
		l.wakeAll(c)
	}), 0
	for _, i := range lost {
		p := k.args
		if i > 0 {
			p = k.deps[i-1]
		}
		if o := c.wanted(k, p); o.State() == refs.Pending {
			missing++
			c.table.Watch(o, w)
		}
	}
	if w.For(missing, missing, false); missing == 0 {
		c.poller.Finish(w)
	}
	c.poller.SendAll()
	c.poller.Arm()
}

func (e *executor) unpark(k *call) {
	if k.parked {
		k.parked = false
		e.laneOf(k).parks--
	}
}

// letGoOfArguments gives back what was borrowed for a call; mu held.
func (c *Client) letGoOfArguments(k *call) {
	for _, o := range k.owned {
		c.table.Unpin(o)
	}
	if k.owned != nil {
		k.owned = nil
		c.carryOut()
	}
}
