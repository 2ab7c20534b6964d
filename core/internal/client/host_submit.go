package client

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the submitting half of the session asks of it. The session's mutex is held.

var _ submit.Effects = (*host)(nil)

// event takes the mutex and calls f, unless the session has ended.
func (c *Client) event(f func(s *submit.Submitter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Closed() {
		f(&c.submit)
	}
}

// What the daemon says to the submitting half.

func (c *Client) granted(g *wire.LeaseGrant) {
	c.event(func(s *submit.Submitter) { s.LeaseGranted(g) })
}

func (c *Client) recalled(lease uint64) {
	c.event(func(s *submit.Submitter) { s.LeaseRecalled(lease) })
}

func (c *Client) leaseWanted(lease uint64) {
	c.event(func(s *submit.Submitter) { s.LeaseWanted(lease) })
}

func (c *Client) brokenLease(b *wire.LeaseBroken) {
	c.event(func(s *submit.Submitter) { s.LeaseBroken(b) })
}

func (c *Client) trouble(class uint32, f *fault.Error) {
	c.event(func(s *submit.Submitter) { s.ClassTrouble(class, f) })
}

// troubleOf is what the daemon says of a class, as a fault.
func troubleOf(t *wire.ClassTrouble) *fault.Error {
	code := fault.TaskUnschedulable
	if t.Code != "" {
		code = fault.Code(t.Code)
	}
	return fault.New(code, "%s", t.Message)
}

// Push implements submit.Effects: a broken connection ends the session elsewhere.
func (h *host) Push(t wire.Type, body any) {
	if !h.toldElsewhere(t, body) {
		_ = h.daemon.Push(t, body)
	}
}

// PushTo implements submit.Effects. A class's environment comes before the class, because the daemon of another node has
// not heard of it. The daemon of this node has told it together with an offer.
func (h *host) PushTo(node uint32, t wire.Type, body any) {
	if k, ok := body.(wire.ClassDefine); ok {
		if e := h.envs[k.EnvKey]; e != nil {
			h.guests.PushOnce(node, e.Key, wire.TEnvDefine, *e)
		}
	}
	h.guests.Push(node, t, body)
}

// RoundTrip implements submit.Effects.
func (h *host) RoundTrip(node uint32) time.Duration { return h.guests.RoundTrip(node) }

// NodeName implements submit.Effects.
func (h *host) NodeName(node uint32) string { return h.guests.Name(node) }

// toldElsewhere tells other nodes' daemons what is not only for the daemon of this node. It reports whether the message is about a
// lease of another node, and so not for the daemon of this node at all.
func (h *host) toldElsewhere(t wire.Type, body any) bool {
	if !h.guests.Any() {
		return false
	}
	var lease uint64
	switch m := body.(type) {
	case wire.LeaseReturn:
		lease = m.LeaseID
	case wire.LeaseMove:
		lease = m.LeaseID
	case wire.FunctionRef: // workers of all these nodes may have run the function
		h.guests.TellAll(t, body)
		return false
	default:
		return false
	}
	return h.guests.Tell(leases.NodeOf(lease), t, body)
}

// Request implements submit.Effects.
func (h *host) Request(t wire.Type, body any, answered func(*wire.Message, error)) {
	h.daemon.Go(t, body, func(m *wire.Message, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		answered(m, err)
	})
}

// Tell implements submit.Effects. Who calls it sends the message again by itself when no connection can be had.
func (h *host) Tell(addr string, t wire.Type, body any, done func(error)) {
	locked := func(_ *wire.Message, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		done(err)
	}
	h.links.To(addr).Attempt(func(p *wire.Peer, err error) {
		if err != nil {
			locked(nil, err)
			return
		}
		p.Go(t, body, locked)
	})
}

// Known implements submit.Effects.
func (h *host) Known(addr string) bool { return h.links.Find(addr) != nil }

// dials bounds how many sockets are opened at once: each may keep a thread of the operating system waiting.
var dials = make(chan struct{}, 64)

// Connect implements submit.Effects. A process that is stopped takes no connections until the
// dialer's time is over, so the wait has a goroutine of its own: the daemon's messages are read on.
func (h *host) Connect(o *submit.Channel, addr string, hello wire.Hello, page int) {
	dialer := h.dialer
	go func() {
		dials <- struct{}{}
		fd, err := dialer.Dial(addr, hello, page)
		<-dials
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.Closed() || o.Unwanted() { // its successor sees to it, or nobody
			if err == nil {
				unix.Close(fd)
			}
			return
		}
		if err != nil {
			o.Connected(nil, err)
			return
		}
		k := new(transport.Conn)
		if o.Far() {
			k.MarkFar()
		}
		if err := h.poller.Add(k, fd, o); err != nil {
			(*Client)(h).fail(err)
			return
		}
		o.Connected(k, nil)
	}()
}

// After implements submit.Effects.
func (h *host) After(d time.Duration, f func()) submit.Timer {
	return time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.Closed() {
			f()
		}
	})
}

// Promote implements submit.Effects. The task has the arguments pinned.
func (h *host) Promote(t *submit.Task, list []*refs.Object) {
	c := (*Client)(h)
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.submit.Promoted(t, c.local.AwaitPromotion(list))
	}()
}

// Report implements submit.Effects.
func (h *host) Report(list []*waiting.Report) { go (*Client)(h).report(list) }

// report tells the program's user what has waited for long, and why.
func (c *Client) report(list []*waiting.Report) {
	for _, r := range list {
		why := r.Why
		if q := r.Ask; q != nil {
			if err := c.CallDaemon(wire.TWhoHolds, q, &why); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			continue // it began meanwhile
		}
		(*host)(c).Warn(r.Warning(why))
	}
}

// Warn implements submit.Effects.
func (h *host) Warn(text string) { h.notes.Add(notice.Note{Warning: text}) }

// LessNeeded implements submit.Effects.
func (h *host) LessNeeded() { (*Client)(h).lessNeeded() }

// Maker implements submit.Effects.
func (h *host) Maker(t *Template) uint32 {
	return h.sites.MakerNumber(t.Name, t.Kind == KindMethod)
}

// Number implements submit.Effects.
func (h *host) Number(name string, otherwise int) int { return (*Client)(h).number(name, otherwise) }

// Log implements submit.Effects.
func (h *host) Log(text string) { (*Client)(h).warn("%s", text) }

// Descriptor implements submit.Effects.
func (h *host) Descriptor(fd int, open bool) {
	if h.opts.Descriptor != nil && fd >= 0 {
		h.opts.Descriptor(fd, open)
	}
}
