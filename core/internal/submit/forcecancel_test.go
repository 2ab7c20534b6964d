package submit

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// A task that was not sent, and a call of an actor, have no worker that could be ended for them.
func TestEnsureEnded_NoLease_NothingHappens(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := alone()
		c.ensureEnded(&Task{})
		c.ensureEnded(&Task{on: &Channel{}})
		time.Sleep(2 * CancelPatience)
	})
}

// A worker whose task is cancelled with force, and that does not end itself in time, is
// given back as unusable: the daemon ends it. Meanwhile it gets no more tasks.
func TestEnsureEnded_TaskStillRunsThere_TheDaemonEndsTheWorker(t *testing.T) {
	for what, x := range map[string]struct {
		change func(c *quiet, o *Channel)
		sent   bool
	}{
		"the task still runs":           {func(*quiet, *Channel) {}, true},
		"the task has ended":            {func(_ *quiet, o *Channel) { o.sent.Take(3) }, false},
		"another task has its number":   {func(_ *quiet, o *Channel) { o.sent.Take(3); o.sent.Add(3, &Task{Seq: 3}) }, false},
		"the lease was given back":      {func(_ *quiet, o *Channel) { o.Lease.Gone = true }, false},
		"the session has ended":         {func(c *quiet, _ *Channel) { c.closed = true }, false},
		"its other tasks have the same": {func(_ *quiet, o *Channel) { o.sent.Add(4, &Task{Seq: 4}) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newQuiet(t)
			got := func() (list []wire.LeaseReturn) {
				for _, m := range c.pushed {
					list = append(list, m.(wire.LeaseReturn))
				}
				return list
			}
			k := &Task{Seq: 3}
			o := &Channel{Lease: &Lease{ID: 7}}
			o.sent.Add(k.Seq, k)
			k.on = o
			c.mu.Lock()
			c.ensureEnded(k)
			c.mu.Unlock()
			time.Sleep(CancelPatience - time.Millisecond)
			synctest.Wait()
			if len(got()) != 0 || o.Lease.Paused {
				t.Errorf("%s: the worker is ended before it could end itself", what)
			}
			c.mu.Lock()
			x.change(c, o)
			c.mu.Unlock()
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			c.mu.Lock() // which is free again
			defer c.mu.Unlock()
			want := []wire.LeaseReturn(nil)
			if x.sent {
				want = []wire.LeaseReturn{{LeaseID: 7, Unusable: true}}
			}
			if !slices.Equal(got(), want) || o.Lease.Paused != x.sent {
				t.Errorf("%s: the daemon hears %+v, want %+v; the lease is paused: %v", what, got(), want, o.Lease.Paused)
			}
		})
	}
}
