package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"sort"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that is to end while others need what it owns moves out of its
// process: its identity, table, tasks, leases and the connections themselves
// go to an heir in the daemon's process, which goes on where it stopped. Nobody
// at the other ends notices. So the process can end at once, and with it what it holds.

// How long the parts of a move may take.
const (
	quietPatience = 2 * time.Second  // for acknowledgements under way
	movePatience  = 30 * time.Second // for the heir to have taken over
)

// move hands everything over; false: it could not begin, nothing has changed. mu held.
func (c *Client) move() bool {
	c.mu.Unlock()
	u, err := c.findHeir()
	c.mu.Lock()
	if err != nil {
		c.warn("no heir for what this worker owns: %v", err)
		return false
	}
	defer u.Close()
	c.settleDown()
	w, fds := c.park()
	c.mu.Unlock()
	err = handOver(u, w, fds)
	c.mu.Lock()
	if err != nil {
		c.warn("what this worker owned is lost: %v", err)
	}
	return true
}

func (c *Client) warn(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "eagleray: "+format+"\n", a...)
}

// findHeir opens a connection that leads to an heir.
func (c *Client) findHeir() (*net.UnixConn, error) {
	u, _, fd, err := wire.Dial(c.opts.Socket, wire.Hello{Version: wire.Version, Role: wire.RoleWill, OwnerID: c.self[:]})
	if fd >= 0 {
		unix.Close(fd)
	}
	return u, err
}

// settleDown lets go of what only this process's program held, asks for no more
// leases, and waits until nothing is under way that cannot be handed over; mu held.
func (c *Client) settleDown() {
	c.takeDrops()
	for _, l := range c.leases {
		l.recall = true // what it has is finished, no more is sent
	}
	for _, l := range c.leases {
		switch {
		case l.lost != nil:
			c.retryLost(l, "the worker is gone")
		case l.conn != nil && l.busy == 0:
			c.returnLease(l)
		}
	}
	for _, k := range c.classes {
		if k.want > 0 {
			k.want = 0
			c.push(wire.TLeaseWant, wire.LeaseWant{ClassID: k.id})
		}
	}
	var mine []*own.Object
	c.table.Each(func(o *own.Object) bool {
		if o.Local > 0 {
			mine = append(mine, o)
		}
		return true
	})
	for _, o := range mine {
		c.table.Unref(o, o.Local)
	}
	c.carryOut()
	for deadline := time.Now().Add(quietPatience); !c.quiet() && !c.closed && time.Now().Before(deadline); {
		c.await(newWaiter(), time.Now().Add(time.Millisecond))
	}
}

// quiet reports whether all that we told other owners has arrived; mu held.
func (c *Client) quiet() bool {
	for _, l := range c.peers {
		if l.busy || len(l.todo) > 0 {
			return false
		}
	}
	return c.unacked == 0 && c.limbo == 0
}

// park stops all reading and writing and writes down where everything stands.
// Afterwards this client does nothing any more; mu held, released meanwhile.
func (c *Client) park() (*will, []int) {
	// Nobody new is let in: who connects from now on waits for the heir.
	ln := c.listen.(*net.UnixListener)
	_ = ln.SetDeadline(time.Unix(1, 0))
	c.mu.Unlock()
	c.admitted.Wait()
	c.mu.Lock()
	c.closed, c.why = true, fault.New(fault.Closed, "this worker is ending")
	for _, f := range c.followers {
		f.signal()
	}
	for c.leader != nil {
		if c.polling {
			c.kicked = false
			c.kick()
		}
		c.mu.Unlock()
		time.Sleep(50 * time.Microsecond) // the leader is on its way out of its poll
		c.mu.Lock()
	}
	w := &will{Next: c.table.Peek() - 1}
	fds := []int{descriptorOf(ln)}
	for p, who := range c.serving {
		c.mu.Unlock()
		s, ok := p.Detach()
		c.mu.Lock()
		if !ok {
			continue // its end is being told
		}
		w.Serving = append(w.Serving, willServing{Owner: append([]byte(nil), who[:]...), State: s})
		fds = append(fds, descriptorOf(p.Conn()))
		c.parked = append(c.parked, p)
	}
	c.carryOut()
	links := make([]*peerLink, 0, len(c.peers))
	for _, l := range c.peers {
		l.parked = true
		links = append(links, l)
	}
	for _, l := range links {
		for l.busy && l.peer != nil {
			c.mu.Unlock()
			time.Sleep(50 * time.Microsecond) // it is being written
			c.mu.Lock()
		}
		if l.peer == nil || l.err != nil {
			continue // borrowed anew by the heir
		}
		c.mu.Unlock()
		s, ok := l.peer.Detach()
		c.mu.Lock()
		if ok {
			x := willLink{Addr: l.addr, State: s}
			for _, j := range l.todo {
				x.GiveBack = append(x.GiveBack, j.giveBack...)
			}
			x.Again = c.unacked > 0
			w.Links = append(w.Links, x)
			fds = append(fds, descriptorOf(l.peer.Conn()))
		}
	}
	fds = c.inventory(w, fds)
	c.mu.Unlock()
	// What the daemon was told so far, it knows now.
	ctx, cancel := context.WithTimeout(context.Background(), movePatience)
	_ = c.daemon.Call(ctx, wire.TObjStats, nil, nil) // its end ends us
	cancel()
	c.mu.Lock()
	return w, fds
}

// handOver sends the will and waits until the heir lives.
func handOver(u *net.UnixConn, w *will, fds []int) error {
	body, err := msgpack.Marshal(w)
	if err != nil {
		return fmt.Errorf("write down what is handed over: %w", err)
	}
	if err := u.SetDeadline(time.Now().Add(movePatience)); err != nil {
		return err
	}
	if err := wire.SendParcel(u, body, fds); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	var b [1]byte
	if _, err := u.Read(b[:]); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	return nil
}

// inventory is the state of writing a will down.
type inventory struct {
	c         *Client
	w         *will
	tasks     map[*task]int
	templates map[*Template]int
	serves    map[ids.Owner]bool // borrowers with a connection
}

// inventory writes table, tasks and task sockets down; mu held.
func (c *Client) inventory(w *will, fds []int) []int {
	v := &inventory{c: c, w: w, tasks: map[*task]int{}, templates: map[*Template]int{}, serves: map[ids.Owner]bool{}}
	for _, t := range c.tmpls {
		v.templates[t] = len(w.Templates)
		x := *t
		x.Blob, x.class = nil, nil // until a task needs it
		w.Templates = append(w.Templates, x)
	}
	waiting := map[*task]bool{}
	asks := map[*wire.Peer]*willServing{}
	for i, p := range c.parked {
		asks[p] = &w.Serving[i]
		v.serves[ids.Owner(w.Serving[i].Owner)] = true
	}
	c.table.Each(func(o *own.Object) bool {
		w.Objects = append(w.Objects, v.object(o))
		if x, ok := o.Watch.(*watch); ok {
			for _, t := range x.tasks {
				waiting[t] = t.counted && t.actor == nil
			}
			for _, m := range x.remote {
				if s := asks[m.Peer()]; s != nil {
					s.Questions = append(s.Questions, willQuestion{raw(o.ID), m.ID})
				}
			}
		}
		return true
	})
	for _, k := range c.classes {
		for k.queue.len() > 0 {
			v.task(k.queue.pop(), taskWaits)
		}
	}
	var late []*task
	for t, ok := range waiting {
		if _, known := v.tasks[t]; ok && !known {
			late = append(late, t)
		}
	}
	sort.Slice(late, func(i, j int) bool { return late[i].first < late[j].first })
	for _, t := range late {
		v.task(t, taskWaits)
	}
	for _, l := range c.leases {
		for _, t := range l.lost {
			v.task(t, taskWaits)
		}
		if l.conn != nil && !l.conn.dead && len(l.conn.tasks) > 0 {
			v.conn(l.conn, willConn{LeaseID: l.id, Class: l.class.id})
			fds = append(fds, l.conn.fd)
		}
	}
	for _, a := range c.actors {
		v.actor(a)
		if a.conn != nil && !a.conn.dead && len(a.conn.tasks) > 0 {
			v.conn(a.conn, willConn{ActorID: append([]byte(nil), a.id[:]...)})
			fds = append(fds, a.conn.fd)
		}
	}
	for caller, m := range c.held {
		for t, list := range m {
			w.Held = append(w.Held, willHeld{append([]byte(nil), caller[:]...), append([]byte(nil), t[:]...), rawOf(list)})
		}
	}
	return fds
}

func (v *inventory) object(o *own.Object) willObject {
	x := willObject{
		ID: raw(o.ID), OwnerAddr: o.OwnerAddr, State: o.State, IsError: o.IsError, Asked: o.Asked, Size: o.Size,
		Contained: rawOf(o.Contained),
	}
	switch o.State {
	case own.Inline:
		x.Value = o.Value
	case own.Hopeless: // the heir's scheduler says so again
		x.State = own.Pending
	case own.Failed:
		x.Fault = &wire.FaultBody{Code: string(o.Fault.Code), Message: o.Fault.Message, Task: o.Fault.Task}
	}
	for _, p := range o.HeldBy() {
		if v.serves[p] { // else its end is being told
			x.HeldBy = append(x.HeldBy, append([]byte(nil), p[:]...))
		}
	}
	return x
}

func (v *inventory) written(t *task, place taskPlace) willTask {
	x := willTask{
		First: t.first, Returns: t.returns, Tries: t.tries, Fmt: t.fmt, Seq: t.seq, Canceled: t.canceled,
		Args: t.args, Deps: rawOf(t.deps), Nested: rawOf(t.nested), Place: place,
	}
	if t.argsRef != nil {
		x.ArgsRef = raw(t.argsRef.ID)
	}
	return x
}

func (v *inventory) task(t *task, place taskPlace) int {
	if n, ok := v.tasks[t]; ok {
		return n
	}
	x := v.written(t, place)
	x.Template = v.templates[t.tmpl]
	if v.w.Templates[x.Template].Blob == nil {
		v.w.Templates[x.Template].Blob = t.tmpl.Blob
	}
	v.tasks[t] = len(v.w.Tasks)
	v.w.Tasks = append(v.w.Tasks, x)
	return v.tasks[t]
}

func (v *inventory) conn(o *outConn, x willConn) {
	x.Addr, x.Seq, x.Unread, x.Unsent = o.peerAddr, o.seq, o.in[:o.have], o.out
	for _, t := range o.tasks {
		x.Tasks = append(x.Tasks, v.task(t, taskSent))
	}
	v.w.Conns = append(v.w.Conns, x)
}

func (v *inventory) actor(a *actor) {
	x := willActor{ID: append([]byte(nil), a.id[:]...), Name: a.name, Inc: a.inc, Limit: a.limit}
	if a.token != nil {
		x.Token = raw(a.token.ID)
	}
	for _, t := range a.sent {
		x.Calls = append(x.Calls, v.task(t, taskLost))
	}
	for _, t := range a.queue.items[a.queue.head:] {
		x.Calls = append(x.Calls, v.task(t, taskWaits))
	}
	if b := a.birth; b != nil {
		place := taskWaits
		if b.announce { // its arguments wait elsewhere
			place = taskSent
		}
		x.Birth = &willBirth{Task: v.written(b.task, place), Template: *b.tmpl, Req: *b.req, Announce: b.announce}
		x.Birth.Template.class = nil
	}
	if a.token == nil && a.pending == 0 && a.birth == nil {
		return // nobody has a handle of it any more
	}
	v.w.Actors = append(v.w.Actors, x)
}
