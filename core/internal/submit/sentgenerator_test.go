package submit

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// sentGenerator is the call of a generator as if it had been sent to a worker, whose frames the test gives to the
// channel; mu held.
func sentGenerator(t *testing.T, c *quiet, f frame.Flow) (*Task, *Channel) {
	t.Helper()
	k := c.NewCall(&Template{Name: "g", Returns: 1, Flow: f}, 0, 0)
	c.MakeReturns(k, 0)
	o := withPipe(NewChannel(&c.Submitter, ""), &silentPipe{closed: true})
	k.Seq, k.on = 1, o
	o.sent.Add(k.Seq, k)
	c.Sent++
	return k, o
}

// endSent ends what sentGenerator began, unless a frame has ended it; mu held.
func endSent(c *quiet, k *Task, o *Channel) {
	if o.sent.Get(k.Seq) != nil {
		c.Sent--
		c.FailTask(k, cancelFault(k))
	}
}

// An exception in a place where none can be ends the connection, and no object outside of the generator's gets it.
func TestStream_ExceptionAtAnImpossiblePlace_IsRefused(t *testing.T) {
	c := newQuiet(t)
	inline := frame.AppendCount(append(frame.AppendInlineResult(nil, 1), 'v'), 0)
	for _, x := range []struct {
		what        string
		left, again bool
		item        uint64
		refused     bool
	}{
		{"the next item", false, false, 2, false},
		{"an item that has come", false, false, 1, true},
		{"an item after the next one", false, false, 3, true},
		{"an item that is not kept", true, false, 5, false},
		{"an item that came before nobody wanted more", true, false, 1, true},
		{"an item of a second run", true, true, 0, false},
		{"an object behind the generator's", true, true, generators.MaxItems, true},
		{"a number that wraps around", true, true, math.MaxUint64, true},
	} {
		c.mu.Lock()
		k, o := sentGenerator(t, c, frame.Flow{Mode: frame.FlowStream})
		k.Generator = generatorWith("own", k.First, "task", k, "got", 2, "left", x.left, "again", x.again)
		answer := frame.Reply{Seq: 1, Flags: wire.ReplyAppError | wire.ReplyLastItem, Item: x.item, Results: 2}
		err := o.frame(frame.AppendReply(nil, answer, slices.Concat(inline, inline))[4:])
		if refused := errors.Is(err, wire.ErrBadFrame); refused != x.refused || !refused && err != nil {
			t.Errorf("%s: %v, want a refusal: %v", x.what, err, x.refused)
		}
		endSent(c, k, o)
		c.Generators.Leave(k.First)
		c.mu.Unlock()
	}
}

// Whatever a worker sends as items, its caller stays whole: the frame is
// taken or refused, and the stream's counts agree with its objects.
func FuzzItemFrames(f *testing.F) {
	c := newQuiet(f)
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
		k, o := sentGenerator(t, c, frame.Flow{Mode: frame.FlowStream, Limit: 2})
		s := k.Generator
		for range 2 {
			_ = o.frame(b)
		}
		for i := range s.Got() {
			if c.table.FindOwned(k.First+1+i) == nil {
				t.Fatalf("item %d of %d is not in the table", i, s.Got())
			}
		}
		endSent(c, k, o)
		gen := ids.NewObject(k.First, c.Self, c.Job, 1)
		c.table.Registered(c.table.Unregistered()) // addresses that are made up
		c.table.Drop([]refs.Drop{{Object: gen, View: refs.DropStream}, {Object: gen}})
		if n, _ := c.table.Len(); n != 0 {
			t.Fatalf("%d objects are left", n)
		}
	})
}
