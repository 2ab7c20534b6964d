package submit

import (
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// For how much and for how long answers and calls may wait for others to share a write.
const (
	batchBytes = 4096
	batchFor   = 500 * time.Microsecond
)

func NewChannel(c *Submitter, addr string) *Channel {
	worker, err := wire.ParseAddress(addr) // what is no address leads nowhere
	o := &Channel{c: c, addr: addr}
	if err == nil && worker.Node() != c.Self.Node() {
		o.node = worker.Node()
	}
	return o
}

// Far reports whether the worker is on another node.
func (o *Channel) Far() bool { return o.node != 0 }

// count counts n more calls, or fewer, that were sent and not answered.
func (o *Channel) count(n int) {
	o.c.Sent += n
	if o.Far() {
		o.c.sentFar += n
	}
}

// left divides the calls of a socket that is gone, in order: the second ones never left this process, because the socket refused them.
func (o *Channel) left(sent []*Task) (left, stayed []*Task) {
	if o.unsent == 0 || !o.Refused() {
		return sent, nil
	}
	for i, t := range sent {
		if int32(t.Seq-o.unsent) >= 0 {
			return sent[:i], sent[i:]
		}
	}
	return sent, nil
}

// assign tells the worker what the lease gives, and in which placement group its tasks run: all classes that it can serve have the same strategy.
func (o *Channel) assign(a *wire.Assignment) {
	body, err := msgpack.Marshal(map[string]any{"resources": a.Resources, "devices": a.Devices, "env": a.Env, "int_ids": a.IntIDs, "strategy": o.Lease.Class.Where})
	if err != nil {
		panic("submit: an assignment is always encodable: " + err.Error())
	}
	o.Queue(frame.AppendAssign(o.Buffer(), body))
	o.SendSoon()
}

// send queues a task, and sends it at once when its worker has nothing else to do.
func (o *Channel) send(t *Task) {
	c, tm := o.c, t.Template
	if o.Lease != nil {
		tm = tm.Choice(o.Lease.Choice)
	}
	if o.Unsent() == 0 && !o.Refused() {
		o.unsent = o.seq + 1
	}
	if !o.known.Has(tm.ID) {
		o.Queue(tm.Append(o.Buffer(), o.known.Add(tm.ID, tm.FID)))
	}
	o.seq++
	t.Seq = o.seq
	idle := o.sent.Len() == 0
	o.sent.Add(t.Seq, t)
	if c.Sent == c.sentFar {
		o.TellWakeup()
	}
	b := c.AppendTask(o.Buffer(), t, tm)
	t.stamp(c, trace.Framed, o.Pipe)
	o.count(1)
	o.SendCall(b, t.Seq, c.Sent-c.sentFar, idle || len(b) >= batchBytes)
}
