package daemon

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// A process may stop waiting for room: its program was interrupted.

// asksFor returns the request of c for room for a new object, nil if none waits.
func (t *objects) asksFor(c *client, id ids.Object) *request {
	for _, r := range t.queues[c] {
		if r.restore == nil && r.id == id {
			return r
		}
	}
	return nil
}

// takeBack ends a creation that waits; what was held ready for it others get.
func (t *objects) takeBack(r *request) {
	t.unclaim(r)
	t.remove(r)
	r.done(place{}, fault.New(fault.BadRequest, "object %s: its process does not wait for room any more", r.id))
	t.pump()
}
