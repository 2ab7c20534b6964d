package client

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/recorded"
)

// recordedFrames was recorded before core/internal/frame existed. The tests of core/internal/frame, core/internal/submit and core/internal/client read it.
const recordedFrames = "../frame/testdata/recorded.txt"

// frameRecorder collects what one session writes to its task sockets.
type frameRecorder struct {
	recorded.Frames
	t *testing.T
	c *Client
}

// sent returns what write has sent through a connection, which sent puts on the poller.
func (r *frameRecorder) sent(k *transport.Conn, h transport.Handler, write func()) []byte {
	r.t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer unix.Close(fds[1])
	if err := r.c.poller.Add(k, fds[0], h); err != nil {
		r.t.Fatal(err)
	}
	write()
	k.Flush()
	b := make([]byte, 1<<20)
	n, err := unix.Read(fds[1], b)
	if err != nil {
		r.t.Fatal(err)
	}
	k.Close()
	return b[:n]
}

// The bytes on a task socket are those that were recorded: of every kind of frame that a worker writes.
func TestFrames_OnTheTaskSockets_AreTheRecordedBytes(t *testing.T) {
	d := startDaemon(t)
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(0) })
	c.mu.Lock()
	defer c.mu.Unlock()
	self, info := c.self, c.info
	defer func() {
		c.self, c.info = self, info
		c.table = c.newTable()
	}()
	c.becomes(ids.Worker{1, 2, 3})
	c.info.Job = ids.JobOf(7)
	c.table = c.newTable()

	r := &frameRecorder{Frames: recorded.Frames{T: t}, t: t, c: c}
	r.workersFrames()
	r.Add("exception-pointer", envelope.PointTo(&frame.Pointer{ID: ids.NewObject(9, c.self, c.info.Job, 1), Owner: c.info.Addr, Size: 1 << 33, Brief: []byte("short")}).Meta)

	r.Compare(recordedFrames, func(name string) bool { return !recorded.OfCaller(name) })
}

// workersFrames records what the worker writes.
func (r *frameRecorder) workersFrames() {
	c := r.c
	// writes records the frames that the worker writes to a caller while its first call runs, each by its name.
	writes := func(names, role string, frames [][]byte, write func(k *execute.Call)) {
		c.takesCalls()
		pipe := new(transport.Conn)
		owner := ids.Owner{9}
		job := ids.JobOf(8)
		caller := c.exec.AddCaller(pipe, &wire.Hello{Role: role, OwnerID: owner[:], JobID: job[:]}, -1)
		all := r.sent(pipe, caller, func() {
			if role == wire.RoleActor {
				if err := c.exec.DeclareGroups([]string{"io"}, nil); err != nil {
					r.t.Fatal(err)
				}
			}
			reads(r.t, caller, frames...)
			write(begins(r.t, c))
		})
		c.exec = nil
		for _, name := range strings.Fields(names) {
			if len(all) < 4 || len(all)-4 < int(binary.LittleEndian.Uint32(all)) {
				r.t.Fatalf("the worker did not write %s", name)
			}
			end := 4 + int(binary.LittleEndian.Uint32(all))
			r.Add(name, all[:end])
			all = all[end:]
		}
		if len(all) > 0 {
			r.t.Errorf("behind %s the worker wrote %d bytes more", names, len(all))
		}
	}
	function := func(x *frame.Template) { x.Name, x.Returns = "f", 2 }
	calls := func(seqs ...uint32) [][]byte {
		list := [][]byte{templateOf(1, function)}
		for _, seq := range seqs {
			b, at := frame.BeginTask(nil, seq, 1, 40, false)
			list = append(list, frame.End(frame.AppendCount(frame.AppendInline(b, inlineText("")), 0), at))
		}
		return list
	}
	generator := func(seq uint32) [][]byte {
		b, at := frame.BeginTask(nil, seq, 1, 40, true)
		b = frame.AppendResume(frame.AppendCount(frame.AppendInline(b, inlineText("")), 0), new(frame.Resume))
		return [][]byte{generatorOf(1, Flow{Mode: FlowStream}), frame.End(b, at)}
	}
	value := Value{Fmt: FmtPickle, Meta: []byte("value")}
	for range 7 { // the recorded frames refer to the eighth object of the session
		c.table.New(1, 1)
	}
	inside := c.table.New(1, 1)
	known := Value{Fmt: FmtPickle, Meta: []byte("references inside"), Nested: []ids.Object{inside.ID, ids.NewObject(5, ids.Owner{8}, ids.JobOf(8), 1)}}
	item := func(i uint64, v *Value) func(*execute.Call) {
		return func(k *execute.Call) {
			if err := c.SendItem(k, i, v, 0); err != nil {
				r.t.Error(err)
			}
		}
	}
	body := func(k *execute.Call, list ...*Value) (b []byte) {
		for i, v := range list {
			var err error
			if b, _, err = c.AppendResult(b, nil, k, i, v, false); err != nil {
				r.t.Fatal(err)
			}
		}
		return b
	}
	answers := func(flags int, us int64, n int, list ...*Value) func(*execute.Call) {
		return func(k *execute.Call) { c.exec.Send(k, flags, us, n, body(k, list...), 0) }
	}
	lease, actor := wire.RoleLease, wire.RoleActor
	writes("reply", lease, calls(3), answers(0, 1500, 2, &value, &known))
	writes("reply-held", lease, calls(3), func(k *execute.Call) { c.exec.Send(k, 0, 1500, 2, body(k, &value, &known), 300) })
	writes("reply-flags", lease, generator(300), func(k *execute.Call) {
		for range 2000 {
			if _, err := c.exec.Yield(k); err != nil {
				r.t.Fatal(err)
			}
		}
		c.exec.Send(k, wire.ReplyAppError|wire.ReplyLastItem, 0, 2, frame.AppendHadResult(body(k, &value)), 0)
	})
	writes("reply-empty", lease, calls(300), answers(wire.ReplyCancelled, 1<<40, 0))
	writes("reply-fault", lease, calls(4), func(k *execute.Call) {
		c.exec.AnswerFault(k, fault.New(fault.TaskCancelled, "task %s was cancelled", "f"))
	})
	stored := Value{Fmt: FmtPickle, Meta: make([]byte, 2*MaxInline)}
	writes("reply-stored", lease, calls(9), answers(0, 20, 1, &stored))
	writes("item", actor, generator(8), item(0, &value))
	writes("item-references", actor, generator(8), item(1<<20, &known))
	writes("returned blocked unblocked", lease, calls(1, 5, 70000), func(k *execute.Call) {
		c.exec.Block()
		c.exec.Unblock()
		c.exec.Finish(k)
	})
	writes("hold-no-more", actor, calls(1), func(k *execute.Call) { c.exec.Greet(k.Caller) })
	writes("hold", actor, calls(1), func(k *execute.Call) {
		c.exec.LimitBacklog(1<<20, 1000)
		in := templateOf(2, func(x *frame.Template) { x.Group = "io" })
		reads(r.t, k.Caller, in, callOf(2, 2, strings.Repeat("x", 1000)))
	})
	writes("lost", lease, calls(6), func(k *execute.Call) { c.exec.GiveLost(k, []int{0, 3, 200}) })
}
