package access

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// An event loop must not wait: neither for the store to find a value, nor for a
// value that was lost to be computed again. So a value that lies in the store is
// fetched before the event loop is told that it is ready.

// Ring tells the event loop that the object for which it waits with this token is ready. The mutex is held.
func (a *Objects) Ring(token uint64) {
	if a.async.fd < 0 {
		return // the session has ended
	}
	a.async.ended = append(a.async.ended, token)
	one := [8]byte{1}
	_, _ = unix.Write(a.async.fd, one[:])
}

// NotifyGone asks for the token when no process holds an object that this process owns any more, or when its value
// was freed.
func (a *Objects) NotifyGone(id ids.Object, token uint64) error {
	return a.Keep(id, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.Ring(token)
	})
}

// fetchForLoop fetches the object, so that a get of it returns at once with a value or
// an error, and then tells the event loop.
func (a *Objects) fetchForLoop(id ids.Object, token uint64, misses int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, err := a.Find(id); err == nil && localstore.MustFetch(o) && misses < retry.MaxMisses {
		v, err := a.local.PinStored(o, time.Time{})
		switch {
		case err == nil:
			a.local.Unhold(v)
		case nodestore.IsLost(err):
			a.table.Missed(o)
			a.watchForLoop(o, token, misses+1)
			return
		}
	}
	a.Ring(token)
}

// watchForLoop tells the event loop when the object is ready and a get of it returns at once; mu held.
func (a *Objects) watchForLoop(o *refs.Object, token uint64, misses int) {
	settled := func() {
		if localstore.MustFetch(o) {
			go a.fetchForLoop(o.ID, token, misses)
		} else {
			a.Ring(token)
		}
	}
	if o.State() != refs.Pending { // somebody has seen to it meanwhile
		settled()
		return
	}
	a.table.Watch(o, wait.Calling(settled).For(1, 1, true))
	a.poller.SendAll()
	a.poller.LoopWaits()
}
