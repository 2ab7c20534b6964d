package client

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// How long a lease that has nothing to do is kept.
const (
	idleLease   = 100 * time.Millisecond
	wantedLease = time.Millisecond // when others wait for the lease
)

// lease is a worker that the daemon has lent to this process.
type lease struct {
	id      uint64
	class   *class   // whose tasks it gets
	conn    *outConn // nil until the socket is open
	busy    int      // how many tasks were sent and not answered
	paused  bool     // it gets no task now: it gave tasks back, or its task waits for an object
	blocked bool     // its task waits for an object
	recall  bool     // others wait for it: it gets no more tasks
	wanted  bool     // others wait for it: it goes back when it has nothing to do
	idle    bool     // it has nothing to do, and is kept for a while
	idleAt  time.Time
	gone    bool             // it was given back, or its worker has ended
	broken  bool             // the daemon has told how its worker ended:
	detail  string           // in words,
	code    fault.Code       // as what its task fails, "" for a crash,
	held    uint64           // and how many bytes of memory the worker held, if it was ended for that
	lost    []*task          // the tasks that it had when its socket broke
	choice  int              // which of the class's alternatives it is for, 0: the class's own resources; see alternatives.go
	better  bool             // a better choice may come free
	never   bool             // the first choice can never be had
	used    bool             // it had a task
	slot    int              // its worker's place on the page of begun tasks; see progress.go
	gives   *wire.Assignment // what its worker is told first; nil: it was told
	opening bool             // the socket to its worker is being opened
}

// granted takes a lease that the daemon grants, and has its worker's socket opened.
func (c *submitter) granted(g *wire.LeaseGrant) {
	k := c.classes[g.ClassID]
	if k == nil { // it was granted before the daemon heard that nobody wants it
		c.fx.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: g.LeaseID})
		return
	}
	k.granted++
	k.changed = time.Now()
	k.want, k.due = max(0, k.want-1), max(0, k.due-1)
	l := &lease{id: g.LeaseID, class: k, choice: g.Choice, better: g.Better, never: g.Never}
	c.leases[l.id] = l
	if l.choice < 0 || l.choice >= len(k.paces) {
		c.dropLease(l, wire.LeaseReturn{LeaseID: l.id})
		return
	}
	var page int
	l.slot, page = c.takeSlot(l.id)
	o := newOutConn(c, g.Addr)
	o.lease, l.gives = l, &g.Assignment
	l.opening = true
	k.opening++
	c.fx.Connect(o, wire.Hello{Version: wire.Version, Role: wire.RoleLease, OwnerID: c.self[:], Addr: c.info.Addr, LeaseID: g.LeaseID, Slot: l.slot, JobID: c.info.Job[:]}, page)
}

// leaseConnected is told that the socket to a lease's worker is open, or cannot be opened. The
// daemon may have said meanwhile that others wait for the lease, or that its worker has ended.
func (c *submitter) leaseConnected(l *lease, o *outConn, err error) {
	k := l.class
	l.opened()
	if err != nil {
		l.lost = nil
		c.dropLease(l, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
		c.adjustWant(k)
		return
	}
	l.conn = o
	if l.broken { // the worker has ended; a child that it forked may still take connections
		o.CloseWhenRead()
		return
	}
	o.assign(l.gives)
	l.gives = nil
	k.leases = append(k.leases, l)
	c.pump(k)
	if l.busy == 0 {
		c.leaseIdle(l)
	}
}

// opened notes that the socket is no longer being opened.
func (l *lease) opened() {
	if l.opening {
		l.opening = false
		l.class.opening--
	}
}

// leaseIdle decides what becomes of a lease that has nothing to do.
func (c *submitter) leaseIdle(l *lease) {
	if l.gone {
		return
	}
	if l.recall || l.better || l.once() {
		c.returnLease(l)
		return
	}
	if c.serveOther(l) && l.busy > 0 {
		return
	}
	l.setIdle(true)
	l.idleAt = time.Now()
	c.lookAt(l.idleAt.Add(l.patience()))
}

// patience returns how long a lease that has nothing to do waits for more.
func (l *lease) patience() time.Duration {
	if l.wanted {
		return wantedLease
	}
	return idleLease
}

// lookAt has idle leases looked at by the given time.
func (c *submitter) lookAt(at time.Time) {
	if c.idleLook.IsZero() || at.Before(c.idleLook) {
		c.idleLook = at
		if c.idleTimer == nil {
			c.idleTimer = c.fx.After(time.Until(at), c.returnIdle)
		} else {
			c.idleTimer.Reset(time.Until(at))
		}
	}
}

// returnIdle gives back the leases that had nothing to do for long.
func (c *submitter) returnIdle() {
	c.idleLook = time.Time{}
	now := time.Now()
	for _, l := range c.leases {
		if l.busy > 0 || l.conn == nil || l.gone {
			continue
		}
		if end := l.idleAt.Add(l.patience()); now.Before(end) {
			c.lookAt(end)
		} else {
			c.returnLease(l)
		}
	}
}

// stop ends the timers, and the waits for cancellations that would be sent again: the session has ended.
func (c *submitter) stop() {
	for k := range c.resending {
		k.over(nil)
	}
	clear(c.resending)
	if c.idleTimer != nil {
		c.idleTimer.Stop()
	}
}

// returnLease gives a lease back whose worker may serve others.
func (c *submitter) returnLease(l *lease) {
	l.conn.Flush()
	c.dropLease(l, wire.LeaseReturn{LeaseID: l.id})
}

// dropLease forgets a lease and tells the daemon.
func (c *submitter) dropLease(l *lease, r wire.LeaseReturn) {
	if l.gone {
		return
	}
	l.gone = true
	l.opened()
	l.setIdle(false)
	delete(c.leases, l.id)
	if i := slices.Index(l.class.leases, l); i >= 0 {
		// Delete clears the place behind the last: a class that is idle must not hold a lease's connection.
		l.class.leases = slices.Delete(l.class.leases, i, i+1)
	}
	if l.conn != nil {
		l.conn.Close()
	}
	if len(l.lost) == 0 {
		c.giveSlotBack(l)
	}
	c.fx.Push(wire.TLeaseReturn, r)
	c.dropClass(l.class)
}

// recalled is told that others wait for a lease. It does what was sent to it, gets no more, and goes back.
func (c *submitter) recalled(id uint64) {
	l := c.leases[id]
	if l == nil {
		return
	}
	l.recall = true
	if l.busy == 0 && l.conn != nil {
		c.returnLease(l)
		c.adjustWant(l.class)
	}
}
