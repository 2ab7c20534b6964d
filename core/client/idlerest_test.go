package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// foreignView makes a view of an object of another process, which one holds.
func foreignView(c *Client, n uint64) *view {
	id := ids.NewObject(n, ids.Owner{9}, c.info.Job, 0)
	p := &pinning{users: 1, done: make(chan struct{})}
	c.settlePlace(id, p, wire.ObjPlace{Size: 100}, nil, true, nil)
	return p.view
}

// Only a view of another's object in the store stays when its last hold ends, in a worker that goes on.
func TestRest_OnlyWhatTheNextTaskMayUse_StaysPinned(t *testing.T) {
	for what, x := range map[string]struct {
		change func(c *Client, v *view)
		idle   int // views that stay
		left   int // holds
	}{
		"another's object":            {func(*Client, *view) {}, 1, 0},
		"somebody else looks, too":    {func(_ *Client, v *view) { v.holds = 2 }, 0, 1},
		"its owner has freed it":      {func(_ *Client, v *view) { v.freed = true }, 0, 0},
		"it lies in a file":           {func(_ *Client, v *view) { v.file = new(store.FileView) }, 0, 0},
		"the session has ended":       {func(c *Client, _ *view) { c.closed = true }, 0, 0},
		"a new copy is mapped":        {func(c *Client, v *view) { c.mapped[v.id] = &view{} }, 0, 0},
		"an object of this process":   {func(c *Client, v *view) { c.self = v.id.Owner() }, 0, 0},
		"a process that is no worker": {func(c *Client, _ *view) { c.exec = nil }, 0, 0},
	} {
		c := startDaemon(t).programless()
		c.mu.Lock()
		e, self := c.exec, c.self
		v := foreignView(c, 5)
		x.change(c, v)
		c.rest(v)
		if c.idle.n != x.idle || v.holds != x.left {
			t.Errorf("%s: %d views stay and %d holds are left, want %d and %d", what, c.idle.n, v.holds, x.idle, x.left)
		}
		if gone := c.views[v.n] == nil; gone != (x.idle+x.left == 0) {
			t.Errorf("%s: it is unpinned: %v", what, gone)
		}
		c.exec, c.self, c.closed = e, self, false
		delete(c.mapped, v.id)
		c.mu.Unlock()
	}
}

// What has been idle for long enough goes, and the timer rings again when the next one has been.
func TestRestViews_SomeAreIdleForLong_TheOthersStay(t *testing.T) {
	c := startDaemon(t).programless()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.rest = time.Hour
	var list []*view
	for i := range uint64(3) {
		v := foreignView(c, i)
		list = append(list, v)
		c.rest(v)
	}
	list[0].since, list[1].since = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour+30*time.Millisecond)
	look := func() {
		c.mu.Unlock()
		c.restViews()
		c.mu.Lock()
	}
	c.closed = true
	look()
	if c.idle.n != 3 {
		t.Errorf("in a session that has ended %d views are left, want all", c.idle.n)
	}
	c.closed = false
	look()
	if c.idle.first == list[0] || c.mapped[list[0].id] != nil {
		t.Error("a view that is idle for long stays")
	}
	c.mu.Unlock()
	waitFor(t, "the second view goes when it has been idle for an hour", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.idle.n == 1
	})
	c.mu.Lock()
	if c.idle.first != list[2] || c.idle.last != list[2] {
		t.Error("the view that was looked at last does not stay")
	}
}

// Views leave the list at its ends and in its middle, and what put wrote last is forgotten with its view.
func TestIdleViews_TakenOutAnywhere_TheOthersStayInOrder(t *testing.T) {
	for at, want := range [][]uint64{{1, 2}, {0, 2}, {0, 1}} {
		c := startDaemon(t).programless()
		c.mu.Lock()
		c.idle.rest = time.Hour
		var list []*view
		for i := range uint64(3) {
			v := foreignView(c, i)
			list = append(list, v)
			c.rest(v)
		}
		c.idle.written = list[1]
		c.unpinIdle(list[at])
		if there := c.idle.written != nil; there != (at != 1) {
			t.Errorf("without view %d, what was written last is known: %v", at, there)
		}
		var forward, back []uint64
		for v := c.idle.first; v != nil; v = v.newer {
			forward = append(forward, v.id.Count())
		}
		for v := c.idle.last; v != nil; v = v.older {
			back = append(back, v.id.Count())
		}
		if len(forward) != 2 || forward[0] != want[0] || forward[1] != want[1] || len(back) != 2 || back[0] != want[1] || back[1] != want[0] || c.idle.n != 2 {
			t.Errorf("without view %d the list is %v, backwards %v, of %d", at, forward, back, c.idle.n)
		}
		c.unpinAllIdle()
		if c.idle.n != 0 || c.idle.first != nil || c.idle.last != nil || len(c.views) != 0 {
			t.Errorf("%d views are left, and %d are known", c.idle.n, len(c.views))
		}
		c.mu.Unlock()
	}
}
