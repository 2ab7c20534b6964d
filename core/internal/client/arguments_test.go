package client

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Two tasks may move the same small result to the arena at once. The second must
// leave the first one's copy alone, which may still be being written; only a run
// of the task itself takes the place of an earlier run's.
func TestArguments_SameResultMovedTwice_IsWrittenOnce(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	v := &Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 90<<10)}}
	total := v.Size()
	c.mu.Lock()
	o := c.table.New(1, 1)
	c.table.PutInline(o, v.Envelope(total), uint64(total))
	for range 2 {
		inState(o, refs.Inline)
		if err := c.local.AwaitPromotion([]*refs.Object{o}); err != nil || o.State() != refs.Stored {
			t.Fatalf("moved: %v, state %d", err, o.State())
		}
	}
	defer c.mu.Unlock()
	if err := c.local.WriteValue(o.ID, v, total, nodestore.Writing{}); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("moved again: %v, want %q", err, fault.AlreadyExists)
	}
	if err := c.local.WriteResult(o.ID, v, total, nodestore.Writing{}); err != nil {
		t.Errorf("written anew: %v", err)
	}
}

// Hundreds are moved with many requests under way; where the store is full the task fails, and nothing waits.
func TestArguments_Many_MoveTogetherOrFail(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	tm := template(t, c, "f")
	for _, n := range []int{200, 1000} { // the fake's store has 64 MiB
		var deps []ids.Object
		for i := range n {
			id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{bytes.Repeat([]byte{byte(i)}, 90<<10)}})
			if err != nil {
				t.Fatal(err)
			}
			deps = append(deps, id)
		}
		out, _, err := c.Submit(&Call{Template: tm, Deps: deps})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Get(out, testLimit)
		if err != nil || f == nil {
			t.Fatalf("no answer: %v", err)
		}
		if full := n == 1000; f.IsError != full {
			t.Errorf("%d arguments: failed %t, want %t", n, f.IsError, full)
		}
		for _, id := range deps {
			c.Release(Drop{Object: id})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.submit.Unqueued != 0 {
		t.Errorf("%d tasks wait for their arguments to move", c.submit.Unqueued)
	}
}
