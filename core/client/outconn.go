package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// How much, and for how long, answers and calls may wait for others to share a write.
const (
	batchBytes = 4096
	batchFor   = 500 * time.Microsecond
	maxRunUs   = 1e12 // what a worker may say that a call ran for: more is no time that a Duration can hold
)

// pipe is the socket of a channel. What is queued is appended to Buffer, so
// that a frame is written where it is sent from.
type pipe interface {
	// Buffer returns what was queued and not sent yet; Queue takes it back, with more behind.
	Buffer() []byte
	Queue(b []byte)
	Unsent() int
	// Full reports whether the socket takes no more for now. The function is called once everything is sent.
	Full() bool
	WhenSent(f func())
	// Flush sends now; SendSoon and ReadSoon leave it to the next turn of who waits.
	Flush()
	SendSoon()
	ReadSoon()
	// Close ends the socket at once, CloseWhenRead when everything that has arrived is read.
	Close()
	CloseWhenRead()
	Closed() bool
	// CallSent and CallAnswered learn how long waking up takes, of which TellWakeup tells the other end.
	CallSent(seq uint32, unanswered int)
	CallAnswered(seq uint32, ran time.Duration)
	TellWakeup()
	FD() int // for the tracer
}

// outConn is a channel through which we call a leased worker or an actor.
type outConn struct {
	pipe     // nil until it is open
	c        *submitter
	lease    *lease
	actor    *actor
	peerAddr string // the worker's own socket
	seq      uint32
	sent     outstanding
	known    map[int]bool    // templates that it has
	blobs    map[string]int  // functions that it has, and in how many of them
	num      uint32          // of an actor's: what its worker knows this connection by
	inc      uint64          // of an actor's: the incarnation that it leads to
	filled   map[string]bool // concurrency groups of an actor that take no more calls for now
}

func newOutConn(c *submitter, addr string) *outConn {
	return &outConn{c: c, peerAddr: addr, known: map[int]bool{}, blobs: map[string]int{}}
}

// unwanted reports whether nobody waits any more for the socket that is being opened.
func (o *outConn) unwanted() bool {
	if o.lease != nil {
		return o.lease.gone
	}
	return o.c.actors[o.actor.id] != o.actor
}

// connected: the socket is open, or cannot be opened.
func (o *outConn) connected(err error) {
	if o.lease != nil {
		o.c.leaseConnected(o.lease, o, err)
	} else {
		o.c.actorConnected(o.actor, o, err)
	}
}

// assign tells the worker what the lease gives.
func (o *outConn) assign(a *wire.Assignment) {
	body, err := msgpack.Marshal(map[string]any{"resources": a.Resources, "devices": a.Devices, "env": a.Env, "int_ids": a.IntIDs})
	if err != nil {
		panic("client: an assignment is always encodable: " + err.Error())
	}
	o.Queue(frame.AppendAssign(o.Buffer(), body))
	o.SendSoon()
}

// send writes the task behind what is waiting; mu held.
func (o *outConn) send(t *task) {
	c, tm := o.c, t.tmpl
	if o.lease != nil {
		tm = tm.as(o.lease.choice)
	}
	if !o.known[tm.id] {
		o.Queue(appendTemplate(o.Buffer(), tm, o.knows(tm)))
	}
	o.seq++
	t.seq = o.seq
	idle := o.sent.len() == 0
	o.sent.add(t)
	if c.inflight == 0 {
		o.TellWakeup()
	}
	o.Queue(c.appendTask(o.Buffer(), t, tm))
	t.stamp(c, trace.Framed, o.pipe)
	c.inflight++
	o.CallSent(t.seq, c.inflight)
	if idle || o.Unsent() >= batchBytes {
		o.Flush()
	}
	if o.Unsent() > 0 {
		o.SendSoon()
	} else {
		o.ReadSoon()
	}
}

// Frames implements transport.Handler: it handles what the worker answered.
func (o *outConn) Frames(b []byte) (int, error) {
	used, err := frame.Each(b, o.frame)
	if err == nil {
		o.refill()
	}
	return used, err
}

// refill sends more to a worker that answered.
func (o *outConn) refill() {
	l := o.lease
	if l == nil || l.gone {
		return
	}
	if l.class.queue.len() > 0 {
		o.c.pump(l.class)
	}
	if l.busy == 0 {
		o.c.leaseIdle(l)
	}
}

func (o *outConn) frame(b []byte) error {
	r, op, n, err := frame.Open(b)
	if err != nil {
		return err
	}
	switch op {
	case wire.OpReply:
		return o.reply(&r, n)
	case wire.OpItem:
		return o.item(&r)
	case wire.OpReturned:
		if o.lease == nil {
			return fmt.Errorf("%w: an actor gives calls back", wire.ErrBadFrame)
		}
		return o.returned(&r)
	case wire.OpHold:
		return o.hearHeld(&r)
	case wire.OpLost:
		return o.lostArguments(&r)
	case wire.OpBlocked:
		if o.lease != nil {
			o.lease.paused, o.lease.blocked = true, true
		}
	case wire.OpUnblocked:
		if o.lease != nil {
			o.lease.paused, o.lease.blocked = false, false
		}
	default:
		return fmt.Errorf("%w: op %d from a worker", wire.ErrBadFrame, op)
	}
	return nil
}

func (o *outConn) returned(r *wire.Reader) error {
	seqs, err := frame.ReadReturned(r)
	if err != nil {
		return err
	}
	var back []*task
	for _, seq := range seqs {
		if t := o.sent.take(seq); t != nil {
			o.c.inflight--
			t.on = nil
			if t.canceled {
				o.c.failTask(t, cancelFault(t))
			} else {
				back = append(back, t)
			}
			if o.lease != nil {
				o.lease.busy--
			}
		}
	}
	if l := o.lease; l != nil {
		l.paused = true // until it answers
		l.class.queue.pushFront(back)
		l.class.paces[l.choice].tooDeep()
		l.class.changed = time.Now()
		o.c.pump(l.class)
	}
	return nil
}

// reply handles an answer, a frame of n elements.
func (o *outConn) reply(r *wire.Reader, n int) error {
	c := o.c
	x, err := frame.ReadReply(r, n)
	if err != nil {
		return err
	}
	seq, us := x.Seq, x.Micros
	t := o.sent.take(seq)
	if t == nil {
		return fmt.Errorf("%w: reply to call %d, which is not outstanding", wire.ErrBadFrame, seq)
	}
	t.stamp(c, trace.Settled, o.pipe)
	c.inflight--
	o.CallAnswered(seq, time.Duration(min(us, maxRunUs))*time.Microsecond)
	if l := o.lease; l != nil {
		l.busy--
		l.paused, l.blocked = false, false
		l.class.paces[l.choice].measure(float64(us) + 1)
	}
	err = o.answered(t, r, &x)
	if err != nil && t.counted && t.on == o { // it has no answer: it is lost with the connection
		o.sent.add(t)
		c.inflight++
	}
	return err
}

// answered reads the rest of a reply.
func (o *outConn) answered(t *task, r *wire.Reader, x *frame.Reply) error {
	c, flags := o.c, x.Flags
	isErr := flags&wire.ReplyAppError != 0
	if flags&wire.ReplyUnregistered != 0 {
		c.unsettled(t, o.peerAddr)
	}
	if isErr && t.tmpl.RetryErrs && flags&wire.ReplyNoRetry == 0 {
		switch v := c.retry(t, raised); v.refusal {
		case permitted:
			t.on = nil
			c.discard(r, x.Results, t, o, v.wait())
			o.exitIf(flags)
			return nil
		case cancelled:
			c.discard(r, x.Results, t, o, 0)
			c.failTask(t, cancelFault(t))
			o.exitIf(flags)
			return nil
		}
	}
	if flags&wire.ReplyCancelled != 0 {
		c.failTask(t, cancelFault(t))
		o.exitIf(flags)
		return nil
	}
	if t.stream != nil {
		return o.lastOf(t, r, x)
	}
	inner := false
	if x.Results != int(t.returns) {
		return fmt.Errorf("%w: %d results for %d returns", wire.ErrBadFrame, x.Results, t.returns)
	}
	for i := range x.Results {
		had, err := c.result(r, t, i, isErr)
		if err != nil {
			return err
		}
		inner = inner || had
	}
	if inner {
		c.table.ReceiptWhenRegistered(o.peerAddr, t.id(c))
	}
	t.failed = isErr
	c.endTask(t)
	o.exitIf(flags)
	return r.Err()
}

// exitIf gives a lease up whose worker ends by itself.
func (o *outConn) exitIf(flags uint64) {
	if flags&wire.ReplyExiting != 0 && o.lease != nil {
		back := o.sent.takeAll()
		o.c.inflight -= len(back)
		for _, t := range back {
			t.on = nil
		}
		o.c.dropLease(o.lease, wire.LeaseReturn{LeaseID: o.lease.id, Exiting: true})
		// The worker may have ended before it heard of a cancellation.
		back = slices.DeleteFunc(back, func(t *task) bool {
			if t.canceled {
				o.c.failTask(t, cancelFault(t))
			}
			return t.canceled
		})
		o.lease.class.queue.pushFront(back)
		o.c.pump(o.lease.class)
	}
}

// result reads one result of a reply into the i-th return.
func (c *submitter) result(r *wire.Reader, t *task, i int, isErr bool) (inner bool, err error) {
	id := ids.NewObject(t.first+uint64(i), c.self, c.info.Job, uint32(i+1))
	o := c.table.FindOwned(t.first + uint64(i))
	held := o != nil
	if o != nil && !t.makes(o) {
		o = nil
	}
	good := o != nil && o.State() == refs.Stored // a copy from a run before this one
	if o != nil && (o.State().Ready() || o.State() == refs.Evicted) {
		o = nil
	}
	x, err := frame.ReadResult(r)
	if err != nil {
		return false, err
	}
	var value []byte
	var size uint64
	state := refs.Inline
	switch x.Place {
	case wire.PlaceInline:
		value = append([]byte(nil), x.Envelope...)
		size = uint64(len(value))
	case wire.PlaceStore:
		state = refs.Stored
		size = x.Size
		t.stored = true
	case wire.PlaceHad:
		if o != nil && !o.State().Ready() && o.Source() == t {
			return false, fmt.Errorf("%w: result %d of %s was left out, and is not here", wire.ErrBadFrame, i, t.tmpl.Name)
		}
		return false, nil
	}
	var before []*refs.Object
	if o != nil {
		before = c.table.TakeContained(o) // of the value that is lost
	}
	for range x.Contained {
		in, addr, err := frame.ReadContained(r)
		if err != nil {
			return inner, err
		}
		inner = true
		if o != nil {
			c.table.Contain(o, c.table.Borrow(in, addr))
		}
	}
	if o == nil { // nobody waits for it any more
		if state == refs.Stored && !good {
			c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
		}
		if isErr && !held && !t.canceled {
			c.fx.NeverFetched(t, value, size)
		}
		return inner, nil
	}
	for _, x := range before {
		c.table.Unpin(x)
	}
	if state == refs.Inline && (t.tries > 0 || isErr && t.returns > 1) {
		// An earlier try may have written a large one, or this one, before the next of its results had no room.
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	}
	if isErr && t.canceled { // who cancels does not wait for what comes of it
		o.MarkSeen()
	}
	c.table.Complete(o, state, value, size, isErr)
	return inner, nil
}

// Gone implements transport.Handler: the worker left.
func (o *outConn) Gone(error) {
	c := o.c
	left := o.sent.takeAll()
	c.inflight -= len(left)
	if o.actor != nil {
		c.actorLost(o.actor, o, left)
		return
	}
	c.leaseLost(o.lease, left)
}
