package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// pool is a Submitter as its pool of leases sees it.
type pool Submitter

var _ leases.Host[Task, Channel] = (*pool)(nil)

// Push implements leases.Host.
func (c *pool) Push(t wire.Type, body any) { c.fx.Push(t, body) }

// PushTo implements leases.Host.
func (c *pool) PushTo(node uint32, t wire.Type, body any) { c.fx.PushTo(node, t, body) }

// RoundTrip implements leases.Host.
func (c *pool) RoundTrip(node uint32) time.Duration { return c.fx.RoundTrip(node) }

// Template implements leases.Host.
func (c *pool) Template(t *Task) *Template { return t.Template }

// After implements leases.Host.
func (c *pool) After(d time.Duration, f func()) leases.Timer { return c.fx.After(d, f) }

// Pump implements leases.Host.
func (c *pool) Pump(k *Class) { (*Submitter)(c).pump(k) }

// Waits implements leases.Host.
func (c *pool) Waits() uint32 {
	(*Submitter)(c).watchPending()
	return c.Looks
}

// Large implements leases.Host.
func (c *pool) Large(t *Task, w *wire.LeaseWant) {
	for _, o := range t.Largest(wire.MaxLarge) {
		w.Large, w.Sizes = append(w.Large, o.ID.Raw()), append(w.Sizes, o.Size())
		w.Homes = append(w.Homes, c.table.HomeNumber(o))
	}
}

// ReadyMs implements leases.Host.
func (c *pool) ReadyMs(t *Task) uint32 { return t.Since }

// Flush implements leases.Host.
func (c *pool) Flush(o *Channel) { o.Flush() }

// Close implements leases.Host.
func (c *pool) Close(o *Channel) { o.Close() }

// Successor implements leases.Host.
func (c *pool) Successor() bool { return c.Settings.Successor }

// Log implements leases.Host.
func (c *pool) Log(text string) { c.fx.Log(text) }

// Descriptor implements leases.Host.
func (c *pool) Descriptor(fd int, open bool) { c.fx.Descriptor(fd, open) }
