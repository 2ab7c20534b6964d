package nodeprocess

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// drainedNode is idle when it is told to be.
type drainedNode struct {
	drains int
	idle   atomic.Bool
	ended  chan string
}

func (n *drainedNode) Drain()                { n.drains++ }
func (n *drainedNode) Idle() bool            { return n.idle.Load() }
func (n *drainedNode) EndBecause(why string) { n.ended <- why }

// A node that is drained ends when it is idle or when the deadline has passed, once, and a later word may change the deadline.
func TestDrain_EndsTheNode_WhenItIsIdleOrLate(t *testing.T) {
	for name, c := range map[string]struct {
		left, then time.Duration // until the deadline, as it is said first and a second later; 0: none
		idleAfter  time.Duration // 0: never
		ends       time.Duration // to within two looks; 0: never
	}{
		"idle":             {0, 0, 3 * time.Second, 3 * time.Second},
		"idle in time":     {time.Minute, time.Minute, 3 * time.Second, 3 * time.Second},
		"late":             {5 * time.Second, 4 * time.Second, 0, 5 * time.Second},
		"later than said":  {5 * time.Second, 19 * time.Second, 0, 20 * time.Second},
		"sooner than said": {time.Hour, time.Second, 0, 2 * time.Second},
		"never":            {0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(context.Background())
				var work sync.WaitGroup
				g := &drain{ctx: ctx, log: slog.New(slog.DiscardHandler), work: &work}
				n := &drainedNode{ended: make(chan string, 2)}
				said := func(left time.Duration) *record.Drain {
					d := &record.Drain{Reason: record.DrainPreemption, Message: "spot", AtMs: time.Now().UnixMilli()}
					if left > 0 {
						d.DeadlineMs = d.AtMs + left.Milliseconds()
					}
					return d
				}
				begun := time.Now()
				g.begin(said(c.left), n)
				if c.idleAfter > 0 {
					time.AfterFunc(c.idleAfter, func() { n.idle.Store(true) })
				}
				time.Sleep(time.Second)
				g.begin(said(c.then), n)
				select {
				case why := <-n.ended:
					if took := time.Since(begun); c.ends == 0 || took < c.ends || took > c.ends+2*idleLook || why != "the node has left the cluster: it was preempted: spot" {
						t.Errorf("it ends after %v, want %v: %s", took, c.ends, why)
					}
				case <-time.After(time.Hour):
					if c.ends != 0 {
						t.Error("it does not end")
					}
				}
				stop()
				work.Wait()
				if n.drains != 1 || len(n.ended) != 0 {
					t.Errorf("it was drained %d times, and ended again %d times", n.drains, len(n.ended))
				}
			})
		})
	}
}

// A clock of this machine that is behind that of the head does not put the deadline off.
func TestDrain_ClocksDiffer_TheDeadlineIsNotLater(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for name, c := range map[string]struct{ at, deadline, want int64 }{
		"the same":        {1_000_000, 1_005_000, 1_005_000},
		"behind the head": {2_000_000, 2_005_000, 1_005_000},
		"ahead of it":     {900_000, 905_000, 905_000},
	} {
		if got := deadlineOf(&record.Drain{AtMs: c.at, DeadlineMs: c.deadline}, now); got.UnixMilli() != c.want {
			t.Errorf("%s: %d, want %d", name, got.UnixMilli(), c.want)
		}
	}
}
