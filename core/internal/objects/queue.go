package objects

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// lookEvery is how often the table looks at the requests while one waits.
const lookEvery = time.Second

// enqueue lets a request wait.
func (t *Table) enqueue(r *request) {
	if t.effects != nil {
		r.since = t.effects.now()
		t.pressed = r.since
	}
	if len(t.byHolder[r.holder]) == 0 {
		t.turns = append(t.turns, r.holder)
	}
	t.byHolder[r.holder] = append(t.byHolder[r.holder], r)
	if t.waiting++; t.waiting == 1 && t.effects != nil {
		t.effects.later(lookEvery)
	}
	t.changed = true
}

// remove takes a request out of its queue.
func (t *Table) remove(r *request) {
	r.dead = true
	q := t.byHolder[r.holder]
	for i, x := range q {
		if x == r {
			q = append(q[:i:i], q[i+1:]...)
			t.waiting--
			break
		}
	}
	if len(q) > 0 {
		t.byHolder[r.holder] = q
		return
	}
	delete(t.byHolder, r.holder)
	for i, c := range t.turns {
		if c == r.holder {
			t.turns = append(t.turns[:i:i], t.turns[i+1:]...)
			break
		}
	}
}

// creation returns the request of c for room for a new object, nil when none
// waits.
func (t *Table) creation(c Holder, id ids.Object) *request {
	for _, r := range t.byHolder[c] {
		if r.restore == nil && r.id == id {
			return r
		}
	}
	return nil
}

// dropRequests forgets what a process that is gone waited for. An object for
// which another process waits, too, comes back in the name of that process.
func (t *Table) dropRequests(c Holder) {
	for _, r := range append([]*request(nil), t.byHolder[c]...) {
		t.dropWindow(r)
		t.remove(r)
		o := r.restore
		if o == nil {
			continue
		}
		var other Holder
		for _, w := range o.waiters {
			if !w.holder.Gone() {
				other = w.holder
			}
		}
		if other != nil {
			t.enqueue(&request{holder: other, id: r.id, size: r.size, restore: o})
			continue
		}
		o.moving, o.waiters = still, nil
		t.release(o)
	}
}
