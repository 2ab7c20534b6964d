package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// What the reference table has the session do, and the session's own kinds of
// what the table keeps for it. The session's mutex is held.

var (
	_ refs.Effects = (*host)(nil)
	_ refs.Task    = (*task)(nil)
	_ refs.Source  = (*actor)(nil)
)

// newTable returns the empty table of this process in its job, which the store joins.
func (c *Client) newTable() *refs.Table {
	t := refs.NewTable(c.self, c.info.Job, c.info.Addr, (*host)(c))
	c.local.Join(c.self, t)
	return t
}

// Wake implements refs.Effects.
func (h *host) Wake(w *wait.Wait) { h.poller.Finish(w) }

// Ready implements refs.Effects.
func (h *host) Ready(t refs.Task) { (*Client)(h).depReady(taskOf(t)) }

// Infeasible implements refs.Effects.
func (h *host) Infeasible(t refs.Task, why *fault.Error) { (*Client)(h).infeasible(taskOf(t), why) }

// Reply implements refs.Effects.
func (h *host) Reply(question *wire.Message, o *refs.Object) {
	_ = question.Reply(o.Answer(h.info.Node)) // a borrower that is gone needs no answer
}

// taskOf returns the task that an object comes from, nil when it comes from none.
func taskOf(s refs.Source) *task {
	t, _ := s.(*task)
	return t
}

// actorOf returns the actor whose lifetime token the object is, nil when it is none.
func actorOf(o *refs.Object) *actor {
	a, _ := o.Source().(*actor)
	return a
}

// IsActor implements refs.Source.
func (*task) IsActor() bool { return false }

// IsActor implements refs.Source.
func (*actor) IsActor() bool { return true }

// What a recipe takes beside its task's arguments, and for each argument.
const (
	recipeBytes = 400
	needBytes   = 32
)

// LineageBytes implements refs.Task.
func (t *task) LineageBytes() uint64 {
	return uint64(recipeBytes + cap(t.args) + needBytes*(len(t.deps)+len(t.nested)))
}

// TextsOf implements refs.Texts.
func (h *host) TextsOf(o *refs.Object) (site, maker string) {
	return (*Client)(h).siteOf(o), (*Client)(h).makerOf(o)
}

// NumberOf implements refs.Texts.
func (h *host) NumberOf(text string) uint32 { return (*Client)(h).textNumber(text) }
