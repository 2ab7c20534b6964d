package client

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// recordedFrames has one frame a line: its name and its bytes in hexadecimal. It was recorded before core/frame existed,
// and core/frame's own test reads it, too.
const recordedFrames = "../frame/testdata/recorded.txt"

var recordFrames = flag.Bool("record-frames", false, "write "+recordedFrames+" anew; only when the wire format is meant to change")

// frameRecorder collects what one session writes to its task sockets.
type frameRecorder struct {
	t     *testing.T
	c     *Client
	lines []string
}

func (r *frameRecorder) add(name string, b []byte) {
	r.t.Helper()
	if len(b) == 0 {
		r.t.Errorf("%s: nothing was written", name)
	}
	r.lines = append(r.lines, name+" "+hex.EncodeToString(b))
}

// sent records what write has sent through a connection, which it puts on the poller.
func (r *frameRecorder) sent(name string, k *transport.Conn, h transport.Handler, write func()) {
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
	r.add(name, b[:n])
}

// The bytes on a task socket are those that were recorded: of every kind of frame that this package writes.
func TestFrames_OnTheTaskSockets_AreTheRecordedBytes(t *testing.T) {
	d := startDaemon(t)
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(0) })
	c.mu.Lock()
	defer c.mu.Unlock()
	self, info, table := c.self, c.info, c.table
	defer func() { c.self, c.info, c.table = self, info, table }()
	c.self, c.info.Job, c.info.Addr = ids.Owner{1, 2, 3}, ids.JobOf(7), "/s/own.sock"
	c.table = c.newTable()

	r := &frameRecorder{t: t, c: c}
	r.callersFrames()
	r.workersFrames()
	r.add("exception-pointer", pointTo(&frame.Pointer{ID: c.object(9, refs.Stored, nil).ID, Owner: "/s/own.sock", Size: 1 << 33, Brief: []byte("short")}).Meta)

	text := strings.Join(r.lines, "\n") + "\n"
	if *recordFrames {
		if err := os.WriteFile(recordedFrames, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(recordedFrames)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, line := range r.lines {
		if !slices.Contains(recorded, line) {
			t.Errorf("this frame was recorded in another form: %s", line)
		}
	}
	if len(recorded) != len(r.lines) {
		t.Errorf("%d frames are recorded, and %d were written", len(recorded), len(r.lines))
	}
}

// object makes an object of ours with a fixed count.
func (c *Client) object(count uint64, state refs.State, value []byte) *refs.Object {
	return refs.Known(ids.NewObject(count, c.self, c.info.Job, 1), refs.Facts{State: state, Value: value, Size: uint64(len(value))})
}

// callersFrames records what the caller writes.
func (r *frameRecorder) callersFrames() {
	c := r.c
	f := &Template{id: 300, Kind: KindTask, Name: "f", FID: []byte("0123456789abcdef"), Blob: []byte("code"), Returns: 2, MaxCalls: CallsUntilLeak, MaxRetries: 3}
	r.add("template-function", appendTemplate(nil, f, true))
	r.add("template-known-function", appendTemplate(nil, f, false))
	large := *f
	large.Blob = nil
	r.add("template-code-elsewhere", appendTemplate(nil, &large, true))
	m := &Template{id: 5, Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1, Group: "io"}
	r.add("template-method", appendTemplate(nil, m, false))
	g := &Template{id: 70000, Kind: KindTask, Name: strings.Repeat("g", 40), FID: []byte("0123456789abcdef"), Returns: 1, MaxCalls: 9,
		Flow: Flow{Mode: FlowStream, Each: 2, Limit: 3, Counted: true}}
	r.add("template-generator", appendTemplate(nil, g, false))

	inline, stored, lost := c.object(1, refs.Inline, []byte("inline")), c.object(2, refs.Stored, nil), c.object(3, refs.Failed, nil)
	alter(stored, func(f *refs.Facts) { f.Size = 1 << 40 })
	foreign := refs.Known(ids.NewObject(4, ids.Owner{9}, ids.JobOf(8), 2), refs.Facts{State: refs.Stored, OwnerAddr: "/s/other.sock", Size: 200})
	args := &task{tmpl: f, seq: 7, first: 20, returns: 2, args: []byte("arguments")}
	r.add("task", c.appendTask(nil, args, f))
	deps := *args
	deps.seq, deps.argsRef, deps.deps = 1<<32-1, stored, []*refs.Object{inline, stored, lost, foreign}
	r.add("task-references", c.appendTask(nil, &deps, f))
	large1, large2 := c.object(5, refs.Inline, make([]byte, maxInFrame)), c.object(6, refs.Inline, []byte("x"))
	huge := *args
	huge.deps = []*refs.Object{large2, large1}
	b := c.appendTask(nil, &huge, f)
	r.add("task-too-large-together", b)
	again := *args
	again.recipe, again.first = &refs.Recipe{}, c.table.Peek()
	c.table.New(1, 1).SetSource(&again)
	c.table.PutInline(c.table.New(2, 1), nil, 0)
	r.add("task-again", c.appendTask(nil, &again, f))
	item := *args
	item.tmpl, item.stream = g, &stream{got: 3, taken: 1}
	r.add("task-generator", c.appendTask(nil, &item, g))
	item.stream = &stream{got: 3, left: true, quit: true}
	r.add("task-generator-left", c.appendTask(nil, &item, g))
	item.first = c.table.Peek()
	item.stream = &stream{gen: item.first, task: &item, got: 3, left: true, again: true}
	c.table.New(1, 1)
	c.table.New(2, 1)
	for i := range uint32(2) {
		c.table.New(i+3, 1).SetSource(&item)
	}
	r.add("task-generator-again", c.appendTask(nil, &item, g))
	spec := &task{tmpl: f, first: 30, args: []byte("arguments"), deps: []*refs.Object{inline, stored, foreign}}
	r.add("constructor", c.creationSpec(spec, f))
	x := withPipe(newOutConn(&c.submitter, ""), transport.Conn{})
	r.sent("forget", socketOf(x), x, func() {
		x.known[f.id] = true
		x.forget(f)
	})
	x = withPipe(newOutConn(&c.submitter, ""), transport.Conn{})
	r.sent("taken", socketOf(x), x, func() {
		c.tellTaken(&stream{task: &task{tmpl: g, seq: 500, on: x}, taken: 2, got: 4}, false)
	})
	x = withPipe(newOutConn(&c.submitter, ""), transport.Conn{})
	r.sent("quit", socketOf(x), x, func() {
		gen := c.table.New(1, 1)
		s := &stream{gen: gen.ID.Count(), left: true}
		s.task = &task{tmpl: g, seq: 12, on: x, stream: s}
		c.unwanted(s.task, gen)
	})
}

// workersFrames records what the worker writes.
func (r *frameRecorder) workersFrames() {
	c := r.c
	// writes records the frames that the worker writes to a caller while its first call runs, each by its name.
	writes := func(names, role string, frames [][]byte, write func(k *execute.Call)) {
		c.exec = execute.New((*host)(c), c.info.Job)
		pipe := new(transport.Conn)
		owner := ids.Owner{9}
		job := ids.JobOf(8)
		caller := c.exec.AddCaller(pipe, &wire.Hello{Role: role, OwnerID: owner[:], JobID: job[:]}, -1)
		r.sent("all", pipe, caller, func() {
			if role == wire.RoleActor {
				if err := c.exec.DeclareGroups([]string{"io"}, nil); err != nil {
					r.t.Fatal(err)
				}
			}
			reads(r.t, caller, frames...)
			write(begins(r.t, c))
		})
		c.exec = nil
		all, err := hex.DecodeString(strings.TrimPrefix(r.lines[len(r.lines)-1], "all "))
		if err != nil {
			r.t.Fatal(err)
		}
		r.lines = r.lines[:len(r.lines)-1]
		for _, name := range strings.Fields(names) {
			if len(all) < 4 || len(all)-4 < int(binary.LittleEndian.Uint32(all)) {
				r.t.Fatalf("the worker did not write %s", name)
			}
			end := 4 + int(binary.LittleEndian.Uint32(all))
			r.add(name, all[:end])
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
	inside := c.table.New(1, 1)
	known := Value{Fmt: FmtPickle, Meta: []byte("references inside"), Nested: []ids.Object{inside.ID, ids.NewObject(5, ids.Owner{8}, ids.JobOf(8), 1)}}
	item := func(i uint64, v *Value) func(*execute.Call) {
		return func(k *execute.Call) {
			if err := c.sendItem(k, i, v, 0); err != nil {
				r.t.Error(err)
			}
		}
	}
	body := func(k *execute.Call, list ...*Value) (b []byte) {
		for i, v := range list {
			var err error
			if b, _, err = c.appendResult(b, nil, k, i, v, false); err != nil {
				r.t.Fatal(err)
			}
		}
		return b
	}
	answers := func(flags int, us int64, n int, list ...*Value) func(*execute.Call) {
		return func(k *execute.Call) { c.exec.Send(k, flags, us, n, body(k, list...)) }
	}
	lease, actor := wire.RoleLease, wire.RoleActor
	writes("reply", lease, calls(3), answers(0, 1500, 2, &value, &known))
	writes("reply-flags", lease, generator(300), func(k *execute.Call) {
		for range 2000 {
			if _, err := c.exec.Yield(k); err != nil {
				r.t.Fatal(err)
			}
		}
		c.exec.Send(k, wire.ReplyAppError|wire.ReplyLastItem, 0, 2, frame.AppendHadResult(body(k, &value)))
	})
	writes("reply-empty", lease, calls(300), answers(wire.ReplyCancelled, 1<<40, 0))
	writes("reply-fault", lease, calls(4), func(k *execute.Call) {
		c.exec.AnswerFault(k, cancelFault(&task{tmpl: &Template{Name: "f"}}))
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
