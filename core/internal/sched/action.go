package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// ClientID numbers the daemon's connections.
type ClientID uint64

// ClassID is the client's own number of a scheduling class.
type ClassID uint32

// LeaseID numbers leases within the daemon's life, from Options.FirstLease. Two leases that
// are held at one time never have the same number.
type LeaseID uint64

// WorkerID numbers worker processes, from 1, started or still ordered.
type WorkerID uint64

// ActorID names one incarnation of an actor that waits for a worker.
type ActorID struct {
	Actor       ids.Actor
	Incarnation uint64
}

// Action is something that the daemon must do, in the order given.
type Action interface {
	// String is the action's line in a trace.
	String() string
}

type (
	// StartWorker orders a process for the pool of a job and environment. The
	// answer is WorkerReady, WorkerFailed or WorkerGone.
	StartWorker struct {
		Worker WorkerID
		Job    ids.Job
		Env    string
	}
	// StopWorker ends an idle worker. It is no longer in the pool.
	StopWorker struct{ Worker WorkerID }
	// Grant gives the client a lease. Choice is 0 for the class's own need, else
	// the number of the alternative; Better says that a choice before it may
	// come free, Never that the class's own need can never be met, and Due that
	// it serves a want that had waited for Class.After.
	Grant struct {
		Client ClientID
		Class  ClassID
		Lease  LeaseID
		Worker WorkerID
		Hold   *resource.Allocation
		Choice int
		Better bool
		Never  bool
		Due    bool
	}
	// Recall asks the client to give the lease back soon.
	Recall struct {
		Client ClientID
		Lease  LeaseID
	}
	// Wanted asks the client to give the lease back when it has nothing to do.
	Wanted struct {
		Client ClientID
		Lease  LeaseID
	}
	// Broken tells the client that its lease's worker is gone.
	Broken struct {
		Client ClientID
		Lease  LeaseID
		Worker WorkerID
	}
	// ClassFailed says that the class gets nothing: its wants are dropped. Code
	// is TaskUnschedulable (for good) or RuntimeEnvSetup (a new want tries again).
	ClassFailed struct {
		Client  ClientID
		Class   ClassID
		Code    fault.Code
		Message string
	}
	// Overflow says how many leases of a class are wanted that have no room here; 0: none any more. It replaces
	// what was said of the class before.
	Overflow struct {
		Client   ClientID
		Class    ClassID
		Job      ids.Job
		Name     string
		Needs    []resource.Set // of a lease, in each choice
		N        int
		Due      int    // for how many of N an alternative may be taken
		Offered  uint64 // how many leases were offered to the class so far
		Strategy strategy.Strategy
		Home     bool     // the head may offer this node, too
		Near     []uint32 // nodes that hold large arguments
	}
	// FollowGroup asks to say when a placement group is of no use for what waits for it, with GroupFails and GroupWaits.
	FollowGroup struct{ Group ids.Group }
	// BundlesPrepared says that bundles of a placement group are set aside, or that they are not and are not waited for any more.
	BundlesPrepared = packing.Prepared
	// Refused tells a guest that it gets so many leases less than it wants.
	Refused struct {
		Client ClientID
		Class  ClassID
		N      int
		Ticket uint64 // of the want that is refused, 0 for none
	}
	// Settled says that a ticket is used up, of a guest or of OfferedHere: how many leases it has brought or will, or 1 if it was for an actor.
	Settled struct {
		Ticket uint64
		Took   int
	}
	// StartActor makes the worker the actor's. Choice is as in Grant.
	StartActor struct {
		Actor  ActorID
		Worker WorkerID
		Hold   *resource.Allocation
		Choice int
	}
	// ActorFailed says that the actor gets no worker: ActorUnschedulable while it
	// does not fit (it stays queued), RuntimeEnvSetup for good.
	ActorFailed struct {
		Actor   ActorID
		Code    fault.Code
		Message string
		Busy    bool // for good, and not queued any more: the node that the actor names had no room for it
	}
)

func (a StartWorker) String() string {
	return fmt.Sprintf("start worker %d for job %d env %q", a.Worker, jobNumber(a.Job), a.Env)
}
func (a StopWorker) String() string { return fmt.Sprintf("stop worker %d", a.Worker) }
func (a Grant) String() string {
	return fmt.Sprintf("grant lease %d to client %d class %d: worker %d with %s%s", a.Lease, a.Client, a.Class, a.Worker, holdText(a.Hold), choiceText(a.Choice, a.Better))
}
func (a Recall) String() string {
	return fmt.Sprintf("recall lease %d from client %d", a.Lease, a.Client)
}
func (a Wanted) String() string {
	return fmt.Sprintf("lease %d of client %d is wanted", a.Lease, a.Client)
}
func (a Broken) String() string {
	return fmt.Sprintf("broken lease %d of client %d", a.Lease, a.Client)
}
func (a ClassFailed) String() string {
	return fmt.Sprintf("fail client %d class %d: %s: %s", a.Client, a.Class, a.Code, a.Message)
}
func (a Overflow) String() string {
	s := fmt.Sprintf("overflow client %d class %d: %d", a.Client, a.Class, a.N)
	if a.Due > 0 {
		s += fmt.Sprintf(", %d due", a.Due)
	}
	if a.Home {
		s += ", also here"
	}
	if len(a.Near) > 0 {
		s += fmt.Sprintf(", near %d", a.Near)
	}
	return s + fmt.Sprintf(", after %d offered", a.Offered)
}
func (a Refused) String() string {
	return fmt.Sprintf("refuse client %d class %d: %d, ticket %d", a.Client, a.Class, a.N, a.Ticket)
}
func (a Settled) String() string { return fmt.Sprintf("settled ticket %d: %d taken", a.Ticket, a.Took) }
func (a StartActor) String() string {
	return fmt.Sprintf("start actor %d on worker %d with %s%s", a.Actor.number(), a.Worker, holdText(a.Hold), choiceText(a.Choice, false))
}
func (a ActorFailed) String() string {
	return fmt.Sprintf("fail actor %d: %s: %s", a.Actor.number(), a.Code, a.Message)
}

// number is what traces call an actor: its first bytes.
func (a ActorID) number() int { return int(a.Actor[0])<<8 | int(a.Actor[1]) }

func jobNumber(j ids.Job) uint32 {
	return uint32(j[0])<<24 | uint32(j[1])<<16 | uint32(j[2])<<8 | uint32(j[3])
}

// holdText lists amounts and devices: {"GPU": 0.5} GPU[0].
func holdText(a *resource.Allocation) string {
	s := a.Resources().String()
	ids := a.DeviceIDs()
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		s += fmt.Sprintf(" %s[%s]", name, strings.Join(ids[name], ","))
	}
	return s
}

// choiceText says which alternative was taken, "" for the first choice.
func choiceText(choice int, better bool) string {
	switch {
	case choice == 0:
		return ""
	case better:
		return fmt.Sprintf(" (alternative %d, a better one may come)", choice)
	}
	return fmt.Sprintf(" (alternative %d)", choice)
}

// devicesKey is one string for the devices of an allocation, "" for none.
func devicesKey(a *resource.Allocation) string {
	ids := a.DeviceIDs()
	s := ""
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		s += name + ":" + strings.Join(ids[name], ",") + ";"
	}
	return s
}

func (a FollowGroup) String() string { return fmt.Sprintf("follow group %s", a.Group) }
