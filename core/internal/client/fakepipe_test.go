package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// fakePipe is the connection of a caller that the test plays: what the worker writes stays in it.
type fakePipe struct{ b []byte }

func (p *fakePipe) Buffer() []byte     { return p.b }
func (p *fakePipe) Queue(b []byte)     { p.b = b }
func (p *fakePipe) Unsent() int        { return len(p.b) }
func (*fakePipe) Flush()               {}
func (*fakePipe) FlushUntil(time.Time) {}
func (*fakePipe) SendSoon()            {}
func (*fakePipe) SendLater()           {}
func (*fakePipe) Sent()                {}
func (*fakePipe) WhenSent(func())      {}
func (*fakePipe) Pause()               {}
func (*fakePipe) Resume()              {}
func (*fakePipe) Paused() bool         { return false }
func (*fakePipe) Closed() bool         { return false }
func (*fakePipe) HearWakeup(uint64)    {}
func (*fakePipe) FD() int              { return -1 }

// worksFor makes a session that of a worker, which a caller with the role calls; mu held.
func worksFor(t *testing.T, c *Client, role string, frames ...[]byte) *execute.Caller {
	t.Helper()
	if c.exec == nil {
		c.takesCalls()
	}
	k := c.exec.AddCaller(new(fakePipe), &wire.Hello{Role: role}, -1)
	reads(t, k, frames...)
	return k
}

// reads has a caller's connection read frames, as if they had come through it; mu held.
func reads(t *testing.T, k *execute.Caller, frames ...[]byte) {
	t.Helper()
	for _, b := range frames {
		if used, err := k.Frames(b); err != nil || used != len(b) {
			t.Fatalf("%d of %d bytes are read: %v", used, len(b), err)
		}
	}
}

// begins takes the next call out of a worker's queue; mu held.
func begins(t *testing.T, c *Client) *execute.Call {
	t.Helper()
	k := c.exec.Next(c.exec.Lane(""))
	if k == nil {
		t.Fatal("no call waits")
	}
	return k
}
