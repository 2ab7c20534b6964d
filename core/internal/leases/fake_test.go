package leases

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// task and channel are what the pools of these tests hold.
type (
	task struct {
		since uint32
		large [][]byte
	}
	channel struct{ flushed, closed int }

	pool  = Pool[task, channel]
	class = Class[task, channel]
	lease = Lease[task, channel]
)

// host plays the submitting half.
type host struct {
	pushed    []any
	pumped    []*class
	looks     uint32
	waits     int
	successor bool
	logged    []string
	timers    []*timer
	way       time.Duration
}

// elsewhere is what another node's daemon is told.
type elsewhere struct {
	node uint32
	t    wire.Type
	body any
}

// timer rings when a test rings it.
type timer struct {
	d       time.Duration
	ring    func()
	stopped bool
}

func (x *timer) Stop() bool                 { x.stopped = true; return true }
func (x *timer) Reset(d time.Duration) bool { x.d, x.stopped = d, false; return true }

func (h *host) Push(_ wire.Type, body any) { h.pushed = append(h.pushed, body) }
func (h *host) PushTo(node uint32, t wire.Type, body any) {
	h.pushed = append(h.pushed, elsewhere{node, t, body})
}
func (h *host) RoundTrip(uint32) time.Duration            { return h.way }
func (h *host) Template(*task) *templates.Template[class] { return &template{Name: "f"} }
func (h *host) After(d time.Duration, f func()) Timer {
	x := &timer{d: d, ring: f}
	h.timers = append(h.timers, x)
	return x
}
func (h *host) Pump(k *class)                    { h.pumped = append(h.pumped, k) }
func (h *host) Waits() uint32                    { h.waits++; return h.looks }
func (h *host) Large(t *task, w *wire.LeaseWant) { w.Large = t.large }
func (h *host) ReadyMs(t *task) uint32           { return t.since }
func (h *host) Flush(o *channel)                 { o.flushed++ }
func (h *host) Close(o *channel)                 { o.closed++ }
func (h *host) Successor() bool                  { return h.successor }
func (h *host) Log(text string)                  { h.logged = append(h.logged, text) }
func (h *host) Descriptor(int, bool)             {}

func newPool(t *testing.T) (*pool, *host) {
	t.Helper()
	p, h := new(pool), new(host)
	p.Init(h)
	t.Cleanup(p.ClosePage)
	return p, h
}
