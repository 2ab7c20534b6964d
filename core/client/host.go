package client

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// host is what the poller of the task sockets and the connections to and from
// other processes ask of the session. The session's mutex is held, except in
// Send, Asked and Called.
type host Client

var (
	_ transport.Host         = (*host)(nil)
	_ transport.LinkHost     = (*host)(nil)
	_ transport.ServedHost   = (*host)(nil)
	_ transport.ListenerHost = (*host)(nil)
)

// BeforePoll implements transport.Host: what the program let go of is seen to.
func (h *host) BeforePoll() { (*Client)(h).takeDrops() }

// Unanswered implements transport.Host.
func (h *host) Unanswered() int { return h.inflight }

// Serving implements transport.Host.
func (h *host) Serving() bool { return h.exec != nil && h.exec.Serving() }

// ReadsAll implements transport.Host.
func (h *host) ReadsAll() bool { return h.exec != nil && h.exec.ReadsAll() }

// AllRead implements transport.Host.
func (h *host) AllRead() { h.exec.AllRead() }

// Polled implements transport.Host: the calls behind one that takes long go back
// to their callers.
func (h *host) Polled() {
	if h.exec != nil {
		h.exec.GiveOverdueBack()
	}
}

// Failed implements transport.Host.
func (h *host) Failed(err error) { (*Client)(h).fail(err) }

// Undisturbed implements transport.Host.
func (h *host) Undisturbed() (left time.Duration, rests bool) {
	if h.exec == nil || h.inflight > 0 {
		return 0, false
	}
	return h.exec.Undisturbed()
}

// LookAgain implements transport.Host: when the calls behind a long one are due
// to go back, and a little later.
func (h *host) LookAgain(most time.Duration) time.Duration {
	if h.exec == nil {
		return most
	}
	return h.exec.LookAgain(most)
}

// What every worker must have to do while answers collect.
const (
	busyFor  = 3000.0 // µs of work: more than the time until the next look
	busyEach = 50.0   // µs that a task runs: the answers of shorter ones come many at a time anyway
)

// MayCoalesce implements transport.Host: it reports whether every lease has work
// until long after the next look.
func (h *host) MayCoalesce() bool {
	some := false
	if h.exec != nil {
		return false // others wait for its answers
	}
	for _, l := range h.leases {
		us := l.class.paces[l.choice].us
		if l.busy == 0 || l.paused || us < busyEach || float64(l.busy)*us < busyFor {
			return false
		}
		some = true
	}
	return some
}

// hello introduces this process to one that it opens a control connection to.
func (h *host) hello() wire.Hello {
	return wire.Hello{Version: wire.Version, Role: wire.RoleControl, OwnerID: bytes.Clone(h.self[:]), Addr: h.info.Addr}
}

// Send implements transport.LinkHost. The mutex is not held.
func (h *host) Send(t wire.Type, batch [][]byte, p *wire.Peer, err error) {
	switch {
	case t == wire.TRefBorrow:
		(*Client)(h).register(batch, p, err)
	case err == nil:
		_ = p.Push(t, wire.ObjRefs{ObjectIDs: batch}) // a broken connection is told by its end
	}
}

// Lost implements transport.LinkHost: the references that are waited for there
// will not become ready.
func (h *host) Lost(addr string) {
	c := (*Client)(h)
	if c.closed {
		return
	}
	c.table.OwnerGone(addr)
}

// Asked implements transport.ServedHost. The mutex is not held.
func (h *host) Asked(who ids.Owner, m *wire.Message) { (*Client)(h).fromPeer(who, m) }

// Left implements transport.ServedHost: the process holds nothing of ours any more.
func (h *host) Left(who ids.Owner) {
	c := (*Client)(h)
	if c.closed {
		return
	}
	c.table.BorrowerGone(who)
}

// Called implements transport.ListenerHost. The mutex is not held.
func (h *host) Called(fd int, hello *wire.Hello, page int) {
	if h.exec == nil { // only workers are called
		unix.Close(fd)
		return
	}
	(*Client)(h).welcome(fd, hello, page)
}
