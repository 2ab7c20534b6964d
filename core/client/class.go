package client

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/wire"
)

// Pipelining.
const (
	maxWant     = 1000 // leases
	idleLease   = 100 * time.Millisecond
	wantedLease = time.Millisecond // when others wait for it
)

// class is a scheduling class: the tasks that can share workers.
type class struct {
	id     uint32
	name   string
	queue  fifo
	leases []*lease
	want   int    // what the daemon was told
	due    int    // how many of them the daemon was told an alternative may serve; see due.go
	paces  []pace // by choice
	after  int64  // ms that the first choice is waited for alone
	alarm  timer  // rings when the next task is due; nil: it was never needed
	bad    *fault.Error
	since  time.Time // nothing of the queue was sent since
	shape  *shape    // nil: its leases serve no other class
	listed bool      // in shape.waiting

	granted uint64    // leases that came
	changed time.Time // a lease came, or gave tasks back

	key       string
	templates int // of it
}

// lease is a worker of ours.
type lease struct {
	id      uint64
	class   *class
	conn    *outConn
	busy    int  // tasks sent and not answered
	paused  bool // it gave tasks back, or its task waits
	blocked bool // its task waits for an object
	recall  bool // others wait for it: it gets no more tasks
	wanted  bool // others wait for it: it goes when it has nothing to do
	resting bool // it has nothing to do
	gone    bool
	idleAt  time.Time
	detail  string     // how the worker ended, once the daemon told
	code    fault.Code // what its task fails with, "" for a crash
	held    uint64     // bytes of memory that the worker held, if it was ended for that
	broken  bool
	lost    []*task          // that it had when its socket broke
	choice  int              // see choice.go
	better  bool             // a choice before may come free
	never   bool             // the first choice can never be had
	used    bool             // it had a task
	slot    int              // see progress.go
	gives   *wire.Assignment // what its worker is told first; nil: it was told
}

func classKey(t *Template) string {
	var b strings.Builder
	resourcesKey(&b, t.Resources)
	// A function that ends its workers, or that is short while another is
	// long, has a class of its own: depth is measured per class.
	fmt.Fprintf(&b, "|%s|%s|%d|%t|%x", t.EnvKey, t.Strategy, t.MaxCalls, t.Enforce, t.FID)
	t.fallbackKey(&b)
	return b.String()
}

func resourcesKey(b *strings.Builder, r map[string]int64) {
	names := make([]string, 0, len(r))
	for n := range r {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(b, "%s=%d,", n, r[n])
	}
}

func (c *submitter) classFor(t *Template) *class {
	key := classKey(t)
	if k := c.byClass[key]; k != nil {
		return k
	}
	return c.defineClass(c.nextClass, key, t)
}

// defineClass makes a class with a number; mu held.
func (c *submitter) defineClass(id uint32, key string, t *Template) *class {
	c.nextClass = max(c.nextClass, id+1)
	k := &class{id: id, key: key, name: t.Name, paces: make([]pace, 1+len(t.Fallback)), after: t.AfterMs, shape: c.shapeFor(t)}
	c.classes[k.id] = k
	c.byClass[key] = k
	c.fx.Push(wire.TClassDefine, wire.ClassDefine{ClassID: k.id, Resources: t.Resources, EnvKey: t.EnvKey, Name: t.Name, Strategy: t.Strategy, Enforce: t.Enforce,
		Fallback: t.alternatives(), AfterMs: t.AfterMs})
	return k
}

// enqueue takes a task whose arguments are ready; mu held.
func (c *submitter) enqueue(t *task) {
	if d := t.badDep(); d != nil {
		c.failLike(t, d)
		return
	}
	if t.tooMuch() {
		c.promote(t)
		return
	}
	k := t.tmpl.class
	if k.bad != nil {
		c.infeasible(t, k.bad)
	}
	k.queue.push(t)
	if k.after > 0 {
		t.since = clockMs(time.Now())
	}
	c.pump(k)
}

// pump sends queued tasks to leases with room and asks for leases.
func (c *submitter) pump(k *class) {
	if k.queue.len() > 0 && (len(k.leases) > 0 || k.shape != nil && k.shape.idle > 0) {
		for k.queue.len() > 0 {
			var best *lease
			for _, l := range k.leases {
				if l.open() && (best == nil || l.before(best)) {
					best = l
				}
			}
			if best == nil {
				best = c.takeIdle(k)
			}
			if best == nil {
				best = k.ahead()
			}
			if best == nil {
				break
			}
			c.sendTask(best, k.queue.pop())
		}
	}
	c.adjustWant(k)
}

// adjustWant tells the daemon how many more leases the queue could use, when
// that changed by much.
func (c *submitter) adjustWant(k *class) {
	k.note()
	n := k.queue.len()
	want := 0
	if n > 0 {
		want = min(maxWant, (n+k.share()-1)/k.share())
	}
	w := wire.LeaseWant{ClassID: k.id, Want: want}
	if k.after > 0 {
		w.Due, w.DueMs = c.countDue(k, want)
	}
	// Of a class that waits for its first choice every change is told: an alternative serves no more tasks than are due.
	if want == k.want && w.Due == k.due || k.after == 0 && want > 0 && k.want > 0 && want < 2*k.want && 2*want > k.want {
		return
	}
	if want > 0 && k.want == 0 {
		k.since = time.Now()
		c.watchPending()
		if len(k.paces) > 1 {
			c.returnResting(k)
		}
	}
	k.want, k.due, w.Seen = want, w.Due, c.seen(k)
	c.fx.Push(wire.TLeaseWant, w)
}

// seen tells the daemon which of its grants a want comes after: one that is on
// its way is not wanted once more. An heir has not counted its predecessor's.
func (c *submitter) seen(k *class) uint64 {
	if c.successor {
		return 0
	}
	return k.granted + 1
}

func (c *submitter) sendTask(l *lease, t *task) {
	t.on = l.conn
	l.conn.send(t)
	l.busy++
	l.used = true
	l.rest(false)
	l.class.since = time.Now()
}

// granted is the daemon's answer to a want.
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
	c.fx.Connect(o, wire.Hello{Version: wire.Version, Role: wire.RoleLease, OwnerID: c.self[:], Addr: c.info.Addr, LeaseID: g.LeaseID, Slot: l.slot, JobID: c.info.Job[:]}, page)
}

// leaseConnected: the socket to a lease's worker is open, or cannot be opened. The
// daemon may have said meanwhile that others wait for the lease, or that it is broken.
func (c *submitter) leaseConnected(l *lease, o *outConn, err error) {
	k := l.class
	if err != nil {
		l.lost = nil
		c.dropLease(l, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
		c.adjustWant(k)
		return
	}
	l.conn = o
	o.assign(l.gives)
	l.gives = nil
	k.leases = append(k.leases, l)
	c.pump(k)
	if l.busy == 0 {
		c.leaseIdle(l)
	}
}

// leaseIdle is called when a lease has nothing to do.
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
	l.rest(true)
	l.idleAt = time.Now()
	c.lookAt(l.idleAt.Add(l.patience()))
}

// patience is how long a lease that has nothing to do waits for more.
func (l *lease) patience() time.Duration {
	if l.wanted {
		return wantedLease
	}
	return idleLease
}

// lookAt has idle leases looked at then, or before; mu held.
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

// stop ends what goes on by itself: the session has ended.
func (c *submitter) stop() {
	if c.idleTimer != nil {
		c.idleTimer.Stop()
	}
}

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
	l.rest(false)
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

// recalled: others wait; finish what was sent, send no more.
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

// trouble marks a class that nothing here can serve. One whose environment
// cannot be made fails what is queued; later tasks try again.
func (c *submitter) trouble(id uint32, f *fault.Error) {
	k := c.classes[id]
	if k == nil {
		return
	}
	defer k.note()
	if f.Code != fault.TaskUnschedulable {
		k.want, k.due = 0, 0
		for k.queue.len() > 0 {
			c.failTask(k.queue.pop(), f)
		}
		return
	}
	k.bad = f
	k.queue.each(func(t *task) { c.infeasible(t, f) })
}

// brokenGrace is how long a broken socket waits for the daemon to say how the
// worker ended.
const brokenGrace = 500 * time.Millisecond

// leaseLost: the worker's socket broke with tasks on it.
func (c *submitter) leaseLost(l *lease, tasks []*task) {
	l.lost = tasks
	detail := l.detail
	c.dropLease(l, wire.LeaseReturn{LeaseID: l.id, Unusable: true})
	if l.broken || len(tasks) == 0 {
		c.retryLost(l, detail)
		return
	}
	c.leases[l.id] = l // for LeaseBroken
	c.fx.After(brokenGrace, func() {
		if c.leases[l.id] == l {
			c.retryLost(l, "the worker is gone")
		}
	})
}

// brokenLease: the daemon says how the worker ended.
func (c *submitter) brokenLease(b *wire.LeaseBroken) {
	l := c.leases[b.LeaseID]
	if l == nil {
		return
	}
	l.broken, l.detail, l.code, l.held = true, b.Detail, fault.Code(b.Code), b.Bytes
	switch {
	case l.gone:
		c.retryLost(l, b.Detail)
	case l.conn != nil: // a child that it forked keeps the socket open
		l.conn.CloseWhenRead()
	}
}

func (c *submitter) retryLost(l *lease, detail string) {
	delete(c.leases, l.id)
	tasks := l.lost
	l.lost = nil
	begun := c.begunOf(l, tasks)
	var again []*task
	for i, t := range tasks {
		t.on = nil
		if i < begun && !t.canceled && planted.Strikes(planted.LostRetry) {
			continue
		}
		if c.lostWithWorker(t, l, detail, l.setbackAt(i, begun)) {
			again = append(again, t)
		}
	}
	if len(again) > 0 {
		l.class.queue.pushFront(again)
	}
	c.pump(l.class)
}

func cancelFault(t *task) *fault.Error {
	return fault.New(fault.TaskCancelled, "task %s was cancelled", t.tmpl.Name)
}
