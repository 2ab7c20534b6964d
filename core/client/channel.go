package client

import (
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// For how much and for how long answers and calls may wait for others to share a write.
const (
	batchBytes = 4096
	batchFor   = 500 * time.Microsecond
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
	lease    *lease // nil: the channel leads to an actor
	actor    *actor // nil: the channel leads to a lease's worker
	peerAddr string // the worker's own socket
	seq      uint32 // number of the latest call
	sent     outstanding
	known    map[int]bool    // the templates that the worker has
	blobs    map[string]int  // the functions that the worker has, and in how many of its templates
	num      uint32          // of an actor: what its worker knows this connection by
	inc      uint64          // of an actor: the incarnation that the channel leads to
	filled   map[string]bool // of an actor: its concurrency groups that take no more calls for now
}

func newOutConn(c *submitter, addr string) *outConn {
	return &outConn{c: c, peerAddr: addr, known: map[int]bool{}, blobs: map[string]int{}}
}

// unwanted reports whether nobody needs the socket any more that is being opened.
func (o *outConn) unwanted() bool {
	if o.lease != nil {
		return o.lease.gone
	}
	return o.c.actors[o.actor.id] != o.actor
}

// connected is told that the socket is open, or why it cannot be opened.
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

// send queues a task, and sends it at once when its worker has nothing else to do.
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

// frame handles one frame.
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

// returned handles the calls that a worker gives back because they would have to
// wait for too long there.
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
