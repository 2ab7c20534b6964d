package client

import (
	"bytes"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Whatever a worker or an actor answers, its caller stays whole: the task has ended or has not, and once it is
// cancelled nothing is left of it.
func FuzzReplyFrames(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver})
	if err != nil {
		f.Fatal(err)
	}
	reply := func(flags uint64, results ...[]byte) []byte {
		x := frame.Reply{Seq: 1, Flags: flags, Micros: 9, Results: len(results)}
		return frame.AppendReply(nil, x, bytes.Join(results, nil))[4:] // behind the frame's length
	}
	inline := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
	stored := frame.AppendCount(frame.AppendStoredResult(nil, 1<<20), 0)
	f.Add(reply(0, inline, inline))
	f.Add(reply(0, stored, inline))
	f.Add(reply(wire.ReplyAppError, inline))
	f.Add(reply(0))
	f.Add(reply(0, inline, []byte{0x93, 0x00}))
	f.Add([]byte{0x92, byte(wire.OpReturned), 0x91, 0x01})
	f.Add([]byte{0x95, 0x0a, 0x01, 0x00, 0x01, 0xdd, 0xff, 0xff, 0xff, 0xff})
	for op := range byte(wire.OpLost) + 1 {
		f.Add([]byte{0x92, op, 0x01})
		f.Add([]byte{0x93, op, 0x01, 0x01})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, ofActor := range []bool{false, true} {
			c.table = c.newTable() // what the last input asked of others may still come
			tm := &Template{Kind: KindTask, Name: "f", Returns: 2, RetryErrs: true, class: &class{paces: make([]pace, 1)}}
			k, err := c.newTask(tm, &Call{Template: 0}, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.count(k)
			o := newOutConn(&c.submitter, "")
			withPipe(o, transport.Closed(c.poller))
			if ofActor {
				o.actor = &actor{name: "A", conn: o, pending: 1}
				k.actor = o.actor
			} else {
				o.lease = &lease{id: 1, class: tm.class, conn: o, busy: 1}
			}
			k.seq, k.on = 1, o
			o.sent.add(k)
			c.inflight++
			for range 2 {
				_ = o.frame(b)
			}
			somewhere := o.sent.len() + tm.class.queue.len() + c.limbo // an actor's call that comes back is sent again
			if k.counted && somewhere == 0 && c.delayed[k] == nil {
				t.Fatal("the task has not ended, and is nowhere")
			}
			c.inflight -= o.sent.len()
			o.sent.takeAll()
			if k.counted {
				k.canceled = true
				c.undelay(k)
				c.failTask(k, cancelFault(k))
			}
			for i := range k.returns {
				if x := c.table.FindOwned(k.first + uint64(i)); x != nil {
					if !x.State().Ready() {
						t.Fatalf("result %d has no value and no error", i)
					}
					c.table.Unref(x, 1)
				}
			}
			c.table.Registered(c.table.Unregistered()) // addresses that are made up
			c.carryOut()
			if n, _ := c.table.Len(); n != 0 {
				t.Fatalf("%d objects are left", n)
			}
		}
	})
}
