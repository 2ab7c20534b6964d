package nodeprocess

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// drained is a daemon that may leave the cluster. *daemon.Daemon has these methods.
type drained interface {
	Drain()
	Idle() bool
	EndBecause(why string)
}

// idleLook is how often a node that is drained looks whether it is idle.
const idleLook = 100 * time.Millisecond

// drain has a node leave the cluster when it is idle or when the deadline has passed, whichever is first. The node's process ends then, and its warden
// ends the rest.
type drain struct {
	ctx   context.Context
	log   *slog.Logger
	work  *sync.WaitGroup
	mu    sync.Mutex
	begun bool
	ends  time.Time // zero: there is no deadline
	why   string
}

// begin takes what the cluster's state says. A later one may have another deadline.
func (g *drain) begin(d *record.Drain, node drained) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why, g.ends = d.String(), deadlineOf(d, time.Now())
	if g.begun {
		return
	}
	g.begun = true
	g.log.Warn("this node gets no new work and leaves the cluster", "reason", d.Reason, "message", d.Message, "deadline", g.ends)
	node.Drain()
	g.work.Go(func() { g.await(node) })
}

// deadlineOf is when the node ends although it works. The clocks of the head and of this machine may differ, so it is never later than if the head had asked now.
func deadlineOf(d *record.Drain, now time.Time) time.Time {
	if d.DeadlineMs == 0 {
		return time.Time{}
	}
	latest := now.Add(time.Duration(max(0, d.DeadlineMs-d.AtMs)) * time.Millisecond)
	if at := time.UnixMilli(d.DeadlineMs); at.Before(latest) {
		return at
	}
	return latest
}

func (g *drain) await(node drained) {
	look := time.NewTicker(idleLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-g.ctx.Done():
			return
		}
		late, why := g.isLate()
		if late || node.Idle() {
			g.log.Warn("this node leaves the cluster", "idle", !late)
			go node.EndBecause("the node has left the cluster: " + why)
			return
		}
	}
}

// isLate reports whether the deadline has passed, and why the node leaves.
func (g *drain) isLate() (late bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.ends.IsZero() && !time.Now().Before(g.ends), g.why
}
