package client

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// What a worker's queue has the session do. The session's mutex is held.

var (
	_ execute.Effects   = (*host)(nil)
	_ execute.Pipe      = (*transport.Conn)(nil)
	_ transport.Handler = (*execute.Caller)(nil)
)

// LookSoon implements execute.Effects.
func (h *host) LookSoon() { h.poller.LookSoon() }

// CollectsAnswers implements execute.Effects.
func (h *host) CollectsAnswers() bool { return h.loop.later((*Client)(h)) }

// Blocked implements execute.Effects.
func (h *host) Blocked(blocked bool) {
	t := wire.TUnblocked
	if blocked {
		t = wire.TBlocked
	}
	(*Client)(h).push(t, nil)
}

// ConstructorFailed implements execute.Effects.
func (h *host) ConstructorFailed(s *wire.ActorStart, why *fault.Error) {
	(*Client)(h).push(wire.TActorReady, wire.ActorReady{ActorID: s.ActorID, Incarnation: s.Incarnation, Message: why.Message})
}

// InterruptProgram implements execute.Effects.
func (h *host) InterruptProgram() bool {
	if h.opts.Interrupt == nil {
		return false
	}
	h.opts.Interrupt()
	return true
}

// CancelChildren implements execute.Effects.
func (h *host) CancelChildren(token uint64, force bool) <-chan struct{} {
	return (*Client)(h).cancelChildren(token, force)
}

// EndByForce implements execute.Effects.
func (h *host) EndByForce(k *execute.Call, children <-chan struct{}) {
	go (*Client)(h).endByForce(k, children)
}

// Unpin implements execute.Effects.
func (h *host) Unpin(held []*refs.Object) {
	(*Client)(h).unpinAll(held)
	(*Client)(h).carryOut()
}

// CallerLeft implements execute.Effects.
func (h *host) CallerLeft(who ids.Owner, addr string) { (*Client)(h).lookForCaller(who, addr) }

// NoMoreCalls implements execute.Effects.
func (h *host) NoMoreCalls() { (*Client)(h).wakeLoop() }

// AfterFunc implements execute.Effects.
func (h *host) AfterFunc(d time.Duration, f func()) *time.Timer { return h.After(d, f).(*time.Timer) }

// welcome takes over a task connection that somebody has opened to this process.
func (c *Client) welcome(fd int, h *wire.Hello, page int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		unix.Close(fd)
		return
	}
	k := new(transport.Conn)
	caller := c.exec.AddCaller(k, h, page)
	if err := c.poller.Add(k, fd, caller); err != nil {
		c.fail(err)
		return
	}
	c.exec.Greet(caller)
	// What came with the hello is read now: the poller was not asked yet.
	k.ReadSoon()
}
