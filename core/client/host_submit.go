package client

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// What the submitting half of the session asks of it. The session's mutex is held.

var _ submitEffects = (*host)(nil)

// event takes the mutex and calls f, unless the session has ended.
func (c *Client) event(f func(s *submitter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		f(&c.submitter)
	}
}

// What the daemon says to the submitting half.

func (c *Client) granted(g *wire.LeaseGrant) { c.event(func(s *submitter) { s.granted(g) }) }

func (c *Client) recalled(lease uint64) { c.event(func(s *submitter) { s.recalled(lease) }) }

func (c *Client) leaseWanted(lease uint64) { c.event(func(s *submitter) { s.leaseWanted(lease) }) }

func (c *Client) brokenLease(b *wire.LeaseBroken) { c.event(func(s *submitter) { s.brokenLease(b) }) }

func (c *Client) trouble(class uint32, f *fault.Error) {
	c.event(func(s *submitter) { s.trouble(class, f) })
}

// Push implements submitEffects: a broken connection ends the session elsewhere.
func (h *host) Push(t wire.Type, body any) { _ = h.daemon.Push(t, body) }

// Request implements submitEffects.
func (h *host) Request(t wire.Type, body any, answered func(*wire.Message, error)) {
	h.daemon.Go(t, body, func(m *wire.Message, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		answered(m, err)
	})
}

// Tell implements submitEffects.
func (h *host) Tell(addr string, t wire.Type, body any, done func(error)) {
	locked := func(_ *wire.Message, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		done(err)
	}
	h.links.To(addr).Do(func(p *wire.Peer, err error) {
		if err != nil {
			locked(nil, err)
			return
		}
		p.Go(t, body, locked)
	})
}

// Known implements submitEffects.
func (h *host) Known(addr string) bool { return h.links.Find(addr) != nil }

// dials bounds how many sockets are opened at once: each may keep a thread of the operating system waiting.
var dials = make(chan struct{}, 64)

// Connect implements submitEffects. A process that is stopped takes no connections until the
// dialer's time is over, so the wait has a goroutine of its own: the daemon's messages are read on.
func (h *host) Connect(o *outConn, hello wire.Hello, page int) {
	dialer := h.dialer
	go func() {
		dials <- struct{}{}
		fd, err := dialer.Dial(o.peerAddr, hello, page)
		<-dials
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.closed || o.unwanted() { // its heir sees to it, or nobody
			if err == nil {
				unix.Close(fd)
			}
			return
		}
		if err == nil {
			k := new(transport.Conn)
			o.pipe = k
			if err := h.poller.Add(k, fd, o); err != nil {
				(*Client)(h).fail(err)
				return
			}
		}
		o.connected(err)
	}()
}

// After implements submitEffects.
func (h *host) After(d time.Duration, f func()) timer {
	return time.AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			f()
		}
	})
}

// Promote implements submitEffects. The task has the arguments pinned.
func (h *host) Promote(t *task, list []*refs.Object) {
	c := (*Client)(h)
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.promoted(t, c.moveToStore(list))
	}()
}

// Report implements submitEffects.
func (h *host) Report(list []*waitReport) { go (*Client)(h).report(list) }

// report tells the program's user what has waited for long, and why.
func (c *Client) report(list []*waitReport) {
	for _, r := range list {
		why := r.why
		if r.ask != nil {
			if err := c.call(wire.TWhoHolds, r.ask, &why); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			continue // it began meanwhile
		}
		(*host)(c).Warn(fmt.Sprintf("%s %s waited for more than %v: %s", r.subject(), r.have(), pendingAfter, why))
	}
}

// Warn implements submitEffects.
func (h *host) Warn(text string) { h.notes.add(Note{Warning: text}) }

// Unheld implements submitEffects.
func (h *host) Unheld(t *task, f *fault.Error) { (*Client)(h).unheld(t, f) }

// NeverFetched implements submitEffects.
func (h *host) NeverFetched(t *task, value []byte, size uint64) {
	(*Client)(h).neverFetched(t.first, t.tmpl.Name, value, size, nil)
}

// LessNeeded implements submitEffects.
func (h *host) LessNeeded() { (*Client)(h).lessNeeded() }

// Maker implements submitEffects.
func (h *host) Maker(t *Template) uint32 { return (*Client)(h).makerNumber(t) }

// Number implements submitEffects.
func (h *host) Number(name string, otherwise int) int { return (*Client)(h).number(name, otherwise) }

// Log implements submitEffects.
func (h *host) Log(text string) { (*Client)(h).warn("%s", text) }

// Descriptor implements submitEffects.
func (h *host) Descriptor(fd int, open bool) {
	if h.opts.Descriptor != nil && fd >= 0 {
		h.opts.Descriptor(fd, open)
	}
}

// socketOf returns the connection that a channel writes to, which a process hands over when it moves.
func socketOf(o *outConn) *transport.Conn { return o.pipe.(*transport.Conn) }
