package submit

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/recorded"
)

// recordedFrames was recorded before core/internal/frame existed. The tests of core/internal/frame, core/internal/submit and core/internal/client read it.
const recordedFrames = "../frame/testdata/recorded.txt"

// frameRecorder collects what one session writes to its task sockets.
type frameRecorder struct {
	recorded.Frames
	c *quiet
}

// sent records what write has queued on a channel.
func (r *frameRecorder) sent(name string, o *Channel, write func()) {
	r.T.Helper()
	write()
	r.Add(name, o.Buffer())
}

// object makes an object of ours with a fixed count.
func (r *frameRecorder) object(count uint64, state refs.State, value []byte) *refs.Object {
	return refs.Known(ids.NewObject(count, r.c.Self, r.c.Job, 1), refs.Facts{State: state, Value: value, Size: uint64(len(value))})
}

// The bytes on a task socket are those that were recorded: of every kind of frame that a caller writes.
func TestFrames_OfACaller_AreTheRecordedBytes(t *testing.T) {
	c := newQuiet(t)
	me := Member{Self: ids.Owner{1, 2, 3}, Job: ids.JobOf(7), Addr: wire.AddressOf(ids.Owner{1, 2, 3})}
	c.Join(me, refs.NewTable(me.Self, me.Job, me.Addr, (*quietTable)(c)))
	r := &frameRecorder{Frames: recorded.Frames{T: t}, c: c}
	r.callersFrames()
	r.Compare(recordedFrames, recorded.OfCaller)
}

// callersFrames records what the caller writes.
func (r *frameRecorder) callersFrames() {
	c := r.c
	f := &Template{ID: 300, Name: "f", FID: []byte("0123456789abcdef"), Blob: []byte("code"), Returns: 2, MaxCalls: templates.CallsUntilLeak, MaxRetries: 3}
	r.Add("template-function", f.Append(nil, true))
	r.Add("template-known-function", f.Append(nil, false))
	large := *f
	large.Blob = nil
	r.Add("template-code-elsewhere", large.Append(nil, true))
	m := &Template{ID: 5, Kind: frame.KindMethod, Name: "A.m", Method: "m", Returns: 1, Group: "io"}
	r.Add("template-method", m.Append(nil, false))
	g := &Template{ID: 70000, Name: strings.Repeat("g", 40), FID: []byte("0123456789abcdef"), Returns: 1, MaxCalls: 9,
		Flow: frame.Flow{Mode: frame.FlowStream, Each: 2, Limit: 3, Counted: true}}
	r.Add("template-generator", g.Append(nil, false))

	inline, stored, lost := r.object(1, refs.Inline, []byte("inline")), r.object(2, refs.Stored, nil), r.object(3, refs.Failed, nil)
	alter(stored, func(f *refs.Facts) { f.Size = 1 << 40 })
	foreign := refs.Known(ids.NewObject(4, ids.Owner{9}, ids.JobOf(8), 2), refs.Facts{State: refs.Stored, OwnerAddr: wire.AddressOf(ids.Owner{9}), Size: 200})
	args := &Task{Template: f, Seq: 7, First: 20, Returns: 2, Arguments: arguments.Of([]byte("arguments"), nil, nil, nil)}
	r.Add("task", c.AppendTask(nil, args, f))
	deps := *args
	deps.Seq, deps.Arguments = 1<<32-1, arguments.Of(nil, stored, []*refs.Object{inline, stored, lost, foreign}, nil)
	r.Add("task-references", c.AppendTask(nil, &deps, f))
	large1, large2 := r.object(5, refs.Inline, make([]byte, frame.MaxInFrame)), r.object(6, refs.Inline, []byte("x"))
	huge := *args
	huge.Arguments = arguments.Of([]byte("arguments"), nil, []*refs.Object{large2, large1}, nil)
	b := c.AppendTask(nil, &huge, f)
	r.Add("task-too-large-together", b)
	again := *args
	again.recipe, again.First = &refs.Recipe{}, c.table.Peek()
	c.table.New(1, 1).SetSource(&again)
	c.table.PutInline(c.table.New(2, 1), nil, 0)
	r.Add("task-again", c.AppendTask(nil, &again, f))
	item := *args
	item.Template, item.Generator = g, generatorWith("got", 3, "taken", 1)
	r.Add("task-generator", c.AppendTask(nil, &item, g))
	item.Generator = generatorWith("got", 3, "left", true, "quit", true)
	r.Add("task-generator-left", c.AppendTask(nil, &item, g))
	item.First = c.table.Peek()
	item.Generator = generatorWith("own", item.First, "task", &item, "got", 3, "left", true, "again", true)
	c.table.New(1, 1)
	c.table.New(2, 1)
	for i := range uint32(2) {
		c.table.New(i+3, 1).SetSource(&item)
	}
	r.Add("task-generator-again", c.AppendTask(nil, &item, g))
	spec := &Task{Template: f, First: 30, Arguments: arguments.Of([]byte("arguments"), nil, []*refs.Object{inline, stored, foreign}, nil)}
	r.Add("constructor", (&constructor{&c.Submitter, spec, f}).Spec())
	x := withPipe(NewChannel(&c.Submitter, ""), new(silentPipe))
	r.sent("forget", x, func() {
		x.known.Add(f.ID, f.FID)
		x.forget(f)
	})
	x = withPipe(NewChannel(&c.Submitter, ""), new(silentPipe))
	r.sent("taken", x, func() {
		c.tellTaken(generatorWith("task", &Task{Template: g, Seq: 500, on: x}, "taken", 2, "got", 4), false)
	})
	x = withPipe(NewChannel(&c.Submitter, ""), new(silentPipe))
	r.sent("quit", x, func() {
		gen := c.table.New(1, 1)
		k := &Task{Template: g, Seq: 12, on: x}
		k.Generator = generatorWith("own", gen.ID.Count(), "left", true, "task", k)
		c.unwanted(k, gen)
	})
}
