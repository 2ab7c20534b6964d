package submit

import (
	"bytes"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Programs make functions, options and resource shapes in loops. This process, the
// daemon and the workers keep a template until it is of no use any more: the program
// cannot call it, none of its tasks is without an answer, and no lineage would run
// one of them again.
//
// Functions capture references. A worker keeps the functions that it has run, and
// borrows what they captured, until the process that the function comes from says
// that nobody can call it any more.

// RetireTemplate notes that the program cannot call a template any more.
func (c *Submitter) RetireTemplate(tm *Template) {
	tm.Retire()
	c.dropTemplate(tm)
}

// dropTemplate removes a template that is retired and not needed.
func (c *Submitter) dropTemplate(tm *Template) {
	if !c.Unneeded(tm) {
		return
	}
	for i := range len(tm.Fallback) + 1 {
		c.forgetAtWorkers(tm.Choice(i))
	}
	for _, other := range c.RemoveTemplate(tm) {
		c.dropTemplate(other)
	}
	if k := tm.Class; k != nil {
		k.Templates--
		c.DropClass(k)
	}
}

// forgetAtWorkers has the workers that have a template forget it.
func (c *Submitter) forgetAtWorkers(tm *Template) {
	for _, l := range c.Leases {
		if l.Channel != nil {
			l.Channel.forget(tm)
		}
	}
	if tm.Kind != frame.KindMethod {
		return
	}
	for _, a := range c.Actors {
		if a.Channel != nil {
			a.Channel.forget(tm)
		}
	}
}

// forget has the worker forget a template.
func (o *Channel) forget(t *Template) {
	if o.Closed() || !o.known.Remove(t.ID, t.FID) {
		return
	}
	o.Queue(frame.AppendForget(o.Buffer(), uint64(t.ID)))
	o.SendSoon()
}

// ForgetFunction notes that the program cannot call a function any more.
func (c *Submitter) ForgetFunction(fid []byte) {
	if !c.Table.ForgetFunction(fid) {
		c.fx.Push(wire.TForget, wire.FunctionRef{FID: bytes.Clone(fid)})
	}
}

// lastEnded lets the workers forget the function of a template when no task of it is left.
func (c *Submitter) lastEnded(tm *Template) {
	if !c.FunctionRuns(tm.FID) {
		c.fx.Push(wire.TForget, wire.FunctionRef{FID: tm.FID})
	}
}
