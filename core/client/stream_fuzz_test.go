package client

import (
	"os"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Whatever a worker sends as items, its caller stays whole: the frame is
// taken or refused, and the stream's counts agree with its objects.
func FuzzItemFrames(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver})
	if err != nil {
		f.Fatal(err)
	}
	inline := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
	stored := frame.AppendCount(frame.AppendStoredResult(nil, 1<<20), 0)
	item := func(i uint64, result []byte) []byte {
		return frame.AppendItem(nil, frame.Item{Seq: 1, Index: i}, result)[4:] // behind the frame's length
	}
	f.Add(item(0, inline))
	f.Add(item(0, stored))
	f.Add(item(7, inline))
	f.Add(item(1<<40, inline))
	last := frame.Reply{Seq: 1, Flags: wire.ReplyAppError | wire.ReplyLastItem, Micros: 9, Results: 2}
	f.Add(frame.AppendReply(nil, last, slices.Concat(inline, inline))[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		tm := &Template{Kind: KindTask, Name: "g", Returns: 1, Flow: Flow{Mode: FlowStream, Limit: 2}}
		k, err := c.newTask(tm, &Call{Template: 0}, 0)
		if err != nil {
			t.Fatal(err)
		}
		o := newOutConn(&c.submitter, "")
		withPipe(o, transport.Closed(c.poller))
		k.seq, k.on = 1, o
		o.sent.add(k)
		s := k.stream
		c.inflight++
		for range 2 {
			_ = o.frame(b)
		}
		for i := range s.got {
			if c.table.FindOwned(s.gen+1+i) == nil {
				t.Fatalf("item %d of %d is not in the table", i, s.got)
			}
		}
		if o.sent.get(1) != nil {
			c.inflight--
			c.failTask(k, cancelFault(k))
		}
		gen := ids.NewObject(s.gen, c.self, c.info.Job, 1)
		c.table.Registered(c.table.Unregistered()) // addresses that are made up
		c.table.Drop([]Drop{{Object: gen, View: DropStream}, {Object: gen}})
		if n, _ := c.table.Len(); n != 0 {
			t.Fatalf("%d objects are left", n)
		}
	})
}

// Whatever a caller sends, the worker stays whole.
func FuzzCallFrames(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t"})
	if err != nil {
		f.Fatal(err)
	}
	tm := &Template{Kind: KindTask, Name: "g", FID: make([]byte, 16), Returns: 1, Flow: Flow{Mode: FlowStream, Each: 2, Limit: 3}}
	first := appendTemplate(nil, tm, true)
	f.Add(c.appendTask(nil, &task{tmpl: tm, first: 1, seq: 1, stream: &stream{got: 3, taken: 1}}, tm))
	f.Add(first)
	f.Add(frame.AppendTaken(nil, 1, 4))
	f.Add(frame.AppendQuit(nil, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exec = nil
		k := worksFor(t, c, wire.RoleLease)
		for _, one := range [][]byte{first, b, b} {
			_, _ = k.Frames(one)
		}
	})
}
