package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the reference table has the session do. The session's mutex is held.

// tableEffects is what the reference table has the session do: what owners and borrowers
// say to each other is the messenger's, all else the session's own.
type tableEffects struct {
	*host
	*borrows.Messenger
}

var _ refs.Effects = (*tableEffects)(nil)

// newTable returns the empty table of this process in its job, which the store, the messenger and the submitting half join.
func (c *Client) newTable() *refs.Table {
	t := refs.NewTable(c.self, c.info.Job, c.info.Addr, &tableEffects{(*host)(c), &c.borrows})
	c.local.Join(c.self, t)
	c.borrows.Join(t)
	c.JoinTable(c.self, c.info.Addr, t)
	c.CallWith(t)
	c.submit.Join(submit.Member{Self: c.self, Node: c.info.Node, Job: c.info.Job, Namespace: c.info.Namespace, Addr: c.info.Addr, Totals: c.info.Totals}, t)
	return t
}

// Wake implements refs.Effects.
func (h *host) Wake(w *wait.Wait) { h.poller.Finish(w) }

// Ready implements refs.Effects.
func (h *host) Ready(t refs.Task) { h.submit.ArgumentReady(t) }

// Infeasible implements refs.Effects.
func (h *host) Infeasible(t refs.Task, why *fault.Error) { h.submit.ArgumentInfeasible(t, why) }

// Reply implements refs.Effects.
func (h *host) Reply(question *wire.Message, o *refs.Object) {
	_ = question.Reply(h.table.Answer(o, h.info.Node)) // a borrower that is gone needs no answer
}

// Refuse implements refs.Effects.
func (h *host) Refuse(question *wire.Message, why error) {
	_ = question.Fail(why) // a borrower that is gone needs no answer
}
