package client

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/executor"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// host is what the poller of the task sockets and the connections to and from
// other processes ask of the session. The session's mutex is held, except in
// Asked and Called.
type host Client

var (
	_ transport.Host         = (*host)(nil)
	_ transport.ServedHost   = (*host)(nil)
	_ transport.ListenerHost = (*host)(nil)
	_ executor.Session       = (*host)(nil)
)

// BeforePoll implements transport.Host: what the program let go of is seen to.
func (h *host) BeforePoll() { h.TakeDrops() }

// Unanswered implements transport.Host.
func (h *host) Unanswered() (all, far int) { return h.submit.Unanswered() }

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
	if all, _ := h.submit.Unanswered(); h.exec == nil || all > 0 {
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

// MayCoalesce implements transport.Host: it reports whether every lease has work
// until long after the next look.
func (h *host) MayCoalesce() bool {
	return h.exec == nil && h.submit.AllBusy() // a worker's answers are waited for by others
}

// hello introduces this process to one that it opens a control connection to.
func (h *host) hello() wire.Hello {
	return wire.Hello{Version: wire.Version, Role: wire.RoleControl, OwnerID: bytes.Clone(h.self[:]), Addr: h.info.Addr}
}

// guestHello introduces this process to another node's daemon; mu held.
func (h *host) guestHello() wire.Hello {
	return wire.Hello{Version: wire.Version, Role: wire.RoleGuest, Pid: os.Getpid(), OwnerID: bytes.Clone(h.self[:]), Addr: h.info.Addr, JobID: bytes.Clone(h.info.Job[:]), Namespace: h.info.Namespace}
}

// Called implements transport.ListenerHost. The mutex is not held.
func (h *host) Called(fd int, hello *wire.Hello, page int) {
	if h.exec == nil { // only workers are called
		unix.Close(fd)
		return
	}
	h.Welcome(fd, hello, page)
}

// ReadsAnswers implements borrows.Session.
func (h *host) ReadsAnswers(actor bool, number uint64) bool {
	return h.submit.ReadsAnswers(actor, number)
}

// Say implements borrows.Session: a worker has no user of its own, so the words go to its standard error.
func (h *host) Say(text string) {
	if h.opts.Role == wire.RoleWorker {
		h.stderr.Add("eagleray: " + text + "\n") // without the mutex's holder waiting for a full pipe
		return
	}
	h.Warn(text)
}

// Await implements borrows.Session.
func (h *host) Await(w *wait.Wait, deadline time.Time) { h.poller.Await(w, deadline) }

// takesCalls makes this process a worker, which others call.
func (c *Client) takesCalls() {
	c.exec = c.TakeCalls(executor.Parts{
		Session: (*host)(c), Objects: &c.objects, Table: c.table, Store: &c.local, Poller: c.poller, Borrows: &c.borrows,
		Job: c.info.Job, Self: c.self, Socket: c.opts.Socket, Interrupt: c.opts.Interrupt, BootTime: c.opts.BootTime, Die: func() { c.die() },
	})
	c.WorkFor(c.exec)
	c.CallsOf(c.exec)
}

// WouldLose implements executor.Session.
func (h *host) WouldLose() bool { return (*Client)(h).needed() }

// AfterFunc implements notice.Clock.
func (h *host) AfterFunc(d time.Duration, f func()) *time.Timer { return h.After(d, f).(*time.Timer) }
