package groups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/record"
)

// Answers takes what becomes of orders to set bundles aside. Its method must not wait.
type Answers interface {
	// BundlesPrepared says whether the bundles of an order are set aside, and what the node has free now.
	BundlesPrepared(a sched.BundlesPrepared, s resource.Stock)
}

// Options are what Groups needs of its node.
type Options struct {
	Context context.Context // ends with the node
	// Head returns the head, when there is one.
	Head func(ctx context.Context) (inquiry.Head, error)
	// Event gives the scheduler an event, under its lock.
	Event   func(func(*sched.Machine))
	Answers Answers
}

// Groups follows placement groups for the scheduler of a node.
type Groups struct{ o Options }

// New returns the Groups of a node.
func New(o Options) *Groups { return &Groups{o} }

// CarryOut carries out an order of the scheduler, if it is one about groups. The scheduler's lock is held.
func (g *Groups) CarryOut(a sched.Action, m *sched.Machine) bool {
	switch a := a.(type) {
	case sched.FollowGroup:
		go g.follow(a.Group, record.GroupPending)
	case sched.BundlesPrepared:
		if g.o.Answers != nil {
			g.o.Answers.BundlesPrepared(a, m.Stock())
		}
	default:
		return false
	}
	return true
}

// retryPause is how long a question waits that had no answer.
const retryPause = time.Second

// follow tells the scheduler of a group's states after the one that was seen, until the group is removed.
func (g *Groups) follow(id ids.Group, seen record.GroupState) {
	head, err := g.o.Head(g.o.Context)
	if err != nil {
		return // the node ends
	}
	head.AwaitGroup(id, seen, inquiry.UnknownGroupWait, func(rec record.Group, infeasible string, err error) {
		go g.heard(id, seen, &rec, infeasible, err)
	})
}

func (g *Groups) heard(id ids.Group, seen record.GroupState, rec *record.Group, infeasible string, err error) {
	fails := func(code fault.Code, why string) {
		g.o.Event(func(m *sched.Machine) { m.GroupFails(id, code, why) })
	}
	switch {
	case errors.Is(err, record.ErrNotFound):
		fails(fault.PlacementGroupRemoved, fmt.Sprintf("placement group %s is not known: it was removed long ago, or belongs to another cluster", id))
	case err != nil:
		time.AfterFunc(retryPause, func() { g.follow(id, seen) })
	case !rec.Live():
		fails(fault.PlacementGroupRemoved, fmt.Sprintf("%s was removed: %s", rec, rec.Why))
	case infeasible != "":
		fails(fault.PlacementGroupUnschedulable, infeasible)
		g.follow(id, record.GroupInfeasible)
	default:
		g.o.Event(func(m *sched.Machine) { m.GroupWaits(id) })
		g.follow(id, rec.State)
	}
}
