package client

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// SelectNow finds the first objects of a list that are ready, as many as are needed, and waits for nobody.
func TestSelectNow_PartOfTheListIsReady_ItsPlacesAreFound(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 5)
	completeAll(c, objs[1], objs[3], objs[4])
	c.mu.Lock()
	for _, o := range objs[3:] {
		alter(o, func(f *refs.Facts) { f.IsError = true })
	}
	c.mu.Unlock()
	for need, want := range map[int][]uint32{1: {1}, 2: {1, 3}} {
		pick := make([]uint32, need)
		if got, sure := c.SelectNow(list, need, false, pick); got != need || !sure || !slices.Equal(pick, want) {
			t.Errorf("of %d that are needed: %d, %v, %v", need, got, sure, pick)
		}
	}
	if !objs[3].Seen() || objs[4].Seen() || objs[1].Seen() {
		t.Error("a failure counts as looked at if and only if it was found")
	}
	pick := make([]uint32, 5)
	if got, sure := c.SelectNow(list, 5, false, pick); got != 3 || !sure || !slices.Equal(pick[:3], []uint32{1, 3, 4}) || !objs[4].Seen() {
		t.Errorf("of all: %d, %v, %v", got, sure, pick)
	}
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 1)
	if got, sure := c.SelectNow([]*ids.Object{list[1], &unknown}, 2, false, pick); got != 0 || sure {
		t.Errorf("with an object that does not exist: %d, %v", got, sure)
	}
	c.mu.Lock()
	inState(objs[1], refs.Stored) // it may have been lost
	c.mu.Unlock()
	if got, sure := c.SelectNow(list[:2], 1, true, pick); got != 0 || sure {
		t.Errorf("with an object that may have been lost: %d, %v", got, sure)
	}
	if got, sure := c.SelectNow(list[:2], 1, false, pick); got != 1 || !sure {
		t.Errorf("with an object that may have been lost, which is not asked: %d, %v", got, sure)
	}
}

// Select counts failures as looked at when it gives their places, and not those behind them.
func TestSelect_MoreFailuresThanNeeded_TheFirstAreLookedAt(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 3)
	c.mu.Lock()
	for _, o := range objs[1:] {
		c.table.Fail(o, fault.New(fault.WorkerCrashed, "why"))
	}
	c.mu.Unlock()
	pick := make([]uint32, 1)
	if got, done, err := c.Select(list, 1, testLimit, false, pick); got != 1 || !done || err != nil || pick[0] != 1 {
		t.Errorf("%d, %v, %v, %v", got, done, err, pick)
	}
	if objs[0].Seen() || !objs[1].Seen() || objs[2].Seen() {
		t.Errorf("looked at: %v, %v, %v", objs[0].Seen(), objs[1].Seen(), objs[2].Seen())
	}
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 1)
	if got, done, err := c.Select([]*ids.Object{list[1], &unknown}, 2, testLimit, false, make([]uint32, 2)); got != 0 || done || fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("with an object that does not exist: %d, %v, %v", got, done, err)
	}
	if ready, err := c.Ready(unknown); ready || fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("an object that does not exist: %v, %v", ready, err)
	}
	if got, done, err := c.Select(list[:1], 1, time.Millisecond, false, pick); got != 0 || done || err != nil {
		t.Errorf("of what is not ready: %d, %v, %v", got, done, err)
	}
}
