package submit

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Whatever a worker or an actor answers, its caller stays whole: the task has ended or has not, and once it is
// cancelled nothing is left of it.
func FuzzReplyFrames(f *testing.F) {
	c := newQuiet(f)
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
			tm := &Template{Name: "f", Returns: 2, RetryErrs: true, Class: &Class{Paces: make([]pace.Pace, 1)}}
			k := c.NewCall(tm, 0, 0)
			c.MakeReturns(k, 0)
			c.Count(k)
			o := NewChannel(&c.Submitter, "")
			withPipe(o, &silentPipe{closed: true})
			if ofActor {
				o.Actor = unknownActor(&c.Submitter, 1)
				o.Actor.Channel, o.Actor.Pending = o, 1
				k.actor = o.Actor
			} else {
				o.Lease = &Lease{ID: 1, Class: tm.Class, Channel: o, Busy: 1}
			}
			k.Seq, k.on = 1, o
			o.sent.Add(k.Seq, k)
			c.Sent++
			for range 2 {
				_ = o.frame(b)
			}
			somewhere := o.sent.Len() + tm.Class.Queue.Len() + c.Unqueued // an actor's call that comes back is sent again
			if k.counted && somewhere == 0 && c.Delayed[k] == nil {
				t.Fatal("the task has not ended, and is nowhere")
			}
			c.Sent -= o.sent.Len()
			o.sent.TakeAll()
			if k.counted {
				k.Canceled = true
				c.Undelay(k)
				c.FailTask(k, cancelFault(k))
			}
			for i := range k.Returns {
				if x := c.table.FindOwned(k.First + uint64(i)); x != nil {
					if !x.State().Ready() {
						t.Fatalf("result %d has no value and no error", i)
					}
					c.table.Unref(x, 1)
				}
			}
			c.table.Registered(c.table.Unregistered()) // addresses that are made up
			c.table.CarryOut()
			if n, _ := c.table.Len(); n != 0 {
				t.Fatalf("%d objects are left", n)
			}
		}
	})
}
