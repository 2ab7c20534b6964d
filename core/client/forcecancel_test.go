package client

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// A worker whose task is cancelled with force, and that does not end itself in time, is
// given back as unusable: the daemon ends it. Meanwhile it gets no more tasks.
func TestEnsureEnded_TaskStillRunsThere_TheDaemonEndsTheWorker(t *testing.T) {
	for what, x := range map[string]struct {
		change func(c *Client, o *outConn)
		sent   bool
	}{
		"the task still runs":           {func(*Client, *outConn) {}, true},
		"the task has ended":            {func(_ *Client, o *outConn) { o.sent.take(3) }, false},
		"another task has its number":   {func(_ *Client, o *outConn) { o.sent.take(3); o.sent.add(&task{seq: 3}) }, false},
		"the lease was given back":      {func(_ *Client, o *outConn) { o.lease.gone = true }, false},
		"the session has ended":         {func(c *Client, _ *outConn) { c.closed = true }, false},
		"its other tasks have the same": {func(_ *Client, o *outConn) { o.sent.add(&task{seq: 4}) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			var got []wire.LeaseReturn
			daemon := wire.NewPeer(there, func(m *wire.Message) {
				var r wire.LeaseReturn
				if err := m.Decode(&r); err != nil || m.Type != wire.TLeaseReturn {
					t.Errorf("%s: the daemon hears %s, %v", what, m.Type, err)
				}
				got = append(got, r)
			}, nil)
			c := bare(&Client{daemon: wire.NewPeer(here, func(*wire.Message) {}, nil)})
			for _, p := range []*wire.Peer{daemon, c.daemon} {
				p.Start()
				defer p.Close()
			}
			k := &task{seq: 3}
			o := &outConn{lease: &lease{id: 7}}
			o.sent.add(k)
			k.on = o
			c.mu.Lock()
			c.ensureEnded(k)
			c.mu.Unlock()
			time.Sleep(cancelPatience - time.Millisecond)
			synctest.Wait()
			if len(got) != 0 || o.lease.paused {
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
			if !slices.Equal(got, want) || o.lease.paused != x.sent {
				t.Errorf("%s: the daemon hears %+v, want %+v; the lease is paused: %v", what, got, want, o.lease.paused)
			}
		})
	}
}

// A task that was not sent, and a call of an actor, have no worker that could be ended for them.
func TestEnsureEnded_NoLease_NothingHappens(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		c := bare(&Client{})
		c.ensureEnded(&task{})
		c.ensureEnded(&task{on: &outConn{}})
		time.Sleep(2 * cancelPatience)
	})
}
