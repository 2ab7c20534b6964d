package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Init makes a Submitter ready to take events, apart from those that need to know the process: Join comes before them.
func (c *Submitter) Init(fx Effects, settings Settings) {
	*c = Submitter{
		fx: fx, Settings: settings,
		Actors: map[ids.Actor]*Actor{},
	}
	c.outbox.Init((*cancels)(c))
	c.Pool.Init((*pool)(c))
}

// cancels is a Submitter as its outbox of cancellations sees it.
type cancels Submitter

// Tell implements cancellation.Sender.
func (c *cancels) Tell(addr string, t wire.Type, body any, done func(error)) {
	c.fx.Tell(addr, t, body, done)
}

// Later implements cancellation.Sender.
func (c *cancels) Later(d time.Duration, f func()) { c.fx.After(d, f) }

// Warn implements cancellation.Sender.
func (c *cancels) Warn(text string) { c.fx.Warn(text) }

// Join notes which process this is, and its empty reference table. It is called again when the process
// has got its job, or its predecessor's place.
func (c *Submitter) Join(m Member, table *refs.Table) {
	c.Member, c.table = m, table
	c.actors.Join(actors.Process{Self: m.Self, Job: m.Job, Namespace: m.Namespace, Addr: m.Addr}, table, (*actorEffects)(c))
	c.Generators.Join(m.Self, m.Job, table)
}

// Leaves notes whether the process waits until nobody needs it any more. While it does not, LessNeeded has
// nobody to tell, and the end of each task saves the call.
func (c *Submitter) Leaves(waits bool) { c.leaving = waits }

// End notes that the session has ended, and why. Timers end, and so do the waits for cancellations that would be sent again.
func (c *Submitter) End(why error) {
	c.closed, c.why = true, why
	c.Generators.End(why)
	c.actors.End()
	c.outbox.End()
	c.Pool.End()
}
