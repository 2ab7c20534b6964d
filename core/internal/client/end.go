package client

import (
	"syscall"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/notice"
)

// fail ends the session because of err; mu held.
func (c *Client) fail(err error) { c.shut(err) }

// shut ends everything that runs or waits in the session, and tells the program; mu held.
func (c *Client) shut(why error) {
	if c.Closed() {
		return
	}
	c.unfetched.TellMore()
	c.SetClosed(why)
	c.local.End(why)
	c.borrows.End()
	c.links.End()
	c.submit.End(why)
	c.poller.End()
	c.served.Refuse()
	f := fault.From(why)
	c.table.FailAll(f)
	c.table.EndRegistrationWaits()
	c.lessNeeded()
	c.table.ReleaseAllKept()
	if c.exec != nil {
		c.exec.EndSession()
	}
	c.notes.Add(notice.Note{Closed: f.Message})
}

// killProcess ends this process at once.
func killProcess() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }
