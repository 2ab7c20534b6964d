package daemon_test

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// groupMade makes a placement group of bundles with these resources.
func groupMade(d *play.Driver, change func(*wire.GroupCreate), bundles ...map[string]float64) ids.Group {
	d.T.Helper()
	id := ids.NewGroup(ids.Job(d.Job.JobID))
	q := wire.GroupCreate{GroupID: id[:], Strategy: "PACK"}
	for _, b := range bundles {
		q.Bundles = append(q.Bundles, wire.GroupBundle{Resources: play.Units(b)})
	}
	if change != nil {
		change(&q)
	}
	d.Call(wire.TGroupCreate, q, nil)
	return id
}

// groupIs waits until a group is created, can never be placed, or is removed.
func groupIs(d *play.Driver, id ids.Group) (s wire.GroupState) {
	d.T.Helper()
	d.Call(wire.TGroupWait, wire.GroupWait{GroupID: id[:], TimeoutMs: -1}, &s)
	return s
}

func inBundle(id ids.Group, bundle int) string {
	return strategy.Strategy{Kind: strategy.Group, Group: id, Bundle: bundle}.String()
}

// groupClass defines a class that runs in a bundle.
func groupClass(d *play.Driver, class uint32, id ids.Group, bundle int, need map[string]float64) {
	d.T.Helper()
	d.Push(wire.TClassDefine, wire.ClassDefine{ClassID: class, Resources: play.Units(need), EnvKey: "default", Name: "f", Strategy: inBundle(id, bundle)})
}

// A group is made, its tasks get what its bundles have, and it is removed while one of them runs: its worker ends, what waits for it fails, and all is free.
func TestFlow_Group_MadeUsedAndRemoved(t *testing.T) {
	s := play.Start(t, 4)
	d := s.Driver(nil)
	id := groupMade(d, func(q *wire.GroupCreate) { q.Name = "it" }, map[string]float64{"CPU": 1}, map[string]float64{"CPU": 2, "GPU": 1})
	if got := groupIs(d, id); got.State != string(record.GroupCreated) {
		t.Fatalf("the group is %+v", got)
	}
	play.Eventually(t, "the rest of the node is free", func() bool {
		i := d.Info()
		return i.Available["CPU"] == 10000 && i.Available["GPU"] == 10000
	})
	groupClass(d, 1, id, 1, map[string]float64{"CPU": 1, "GPU": 1})
	d.Want(1, 2)
	h := d.Lease()
	if h.Assignment.Resources["CPU"] != 10000 || len(h.Assignment.Devices["GPU"]) != 1 || h.Assignment.Env["CUDA_VISIBLE_DEVICES"] == "" {
		t.Errorf("the task gets %+v", h.Assignment)
	}
	if i := d.Info(); i.Available["CPU"] != 10000 {
		t.Errorf("while it runs %d CPUs are free", i.Available["CPU"])
	}
	var found, none *record.Group
	d.Call(wire.TGroupFind, wire.GroupFind{Namespace: "n", Name: "it"}, &found)
	d.Call(wire.TGroupFind, wire.GroupFind{Namespace: "n", Name: "other"}, &none)
	if found == nil || found.ID != id || found.State != record.GroupCreated || len(found.Nodes) != 2 || found.Owner != d.Owner() || none != nil {
		t.Errorf("by its name: %+v; by another one: %+v", found, none)
	}
	d.Call(wire.TGroupRemove, wire.GroupRef{GroupID: id[:]}, nil)
	var recalled wire.LeaseRef
	d.Expect(wire.TLeaseRecall, &recalled)
	var broken wire.LeaseBroken
	d.Expect(wire.TLeaseBroken, &broken)
	if recalled.LeaseID != h.LeaseID || broken.LeaseID != h.LeaseID {
		t.Errorf("recalled is lease %d, and broken %+v; it was %d", recalled.LeaseID, broken, h.LeaseID)
	}
	var failed wire.ClassTrouble
	d.Expect(wire.TClassInfeasible, &failed)
	if failed.ClassID != 1 || failed.Code != string(fault.PlacementGroupRemoved) || !strings.Contains(failed.Message, `placement group "it" `+id.String()+" was removed: it was removed by remove_placement_group()") {
		t.Errorf("what waits fails with %+v", failed)
	}
	d.Want(1, 1) // later
	d.Expect(wire.TClassInfeasible, &failed)
	if failed.Code != string(fault.PlacementGroupRemoved) {
		t.Errorf("what comes later fails with %+v", failed)
	}
	if got := groupIs(d, id); got.State != string(record.GroupRemoved) || got.Message == "" {
		t.Errorf("the group is %+v", got)
	}
	play.Eventually(t, "everything is free", func() bool {
		i := d.Info()
		return i.Available["CPU"] == 40000 && i.Available["GPU"] == 20000
	})
	var all []record.Group
	d.Call(wire.TGroups, nil, &all)
	if len(all) != 1 || all[0].ID != id || all[0].State != record.GroupRemoved {
		t.Errorf("the groups are %+v", all)
	}
}

// A task of a group waits for the group, also when it comes first, and a group waits for room.
func TestFlow_Group_WaitsForRoom_TasksWaitForIt(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	held := d.Leased(1)
	d.Want(1, 3) // further ones
	other := d.Lease()
	id := groupMade(d, nil, map[string]float64{"CPU": 2})
	groupClass(d, 2, id, -1, map[string]float64{"CPU": 1})
	d.Want(2, 1)
	var now wire.GroupState
	d.Call(wire.TGroupWait, wire.GroupWait{GroupID: id[:], TimeoutMs: 1}, &now)
	if now.State != string(record.GroupPending) {
		t.Errorf("the group is %+v", now)
	}
	for range 2 { // both are asked for, for the group
		var r wire.LeaseRef
		d.Expect(wire.TLeaseRecall, &r)
	}
	d.Want(1, 0)
	held.GiveBack()
	other.GiveBack()
	if got := groupIs(d, id); got.State != string(record.GroupCreated) {
		t.Errorf("the group is %+v", got)
	}
	if h := d.Lease(); h.ClassID != 2 {
		t.Errorf("granted is %+v", h.LeaseGrant)
	}
}

// What the node can never have is said at once, and what waits for the group fails.
func TestFlow_Group_TooLarge_SaysSo(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id := groupMade(d, nil, map[string]float64{"CPU": 3})
	groupClass(d, 1, id, 0, map[string]float64{"CPU": 1})
	d.Want(1, 1)
	if got := groupIs(d, id); got.State != string(record.GroupInfeasible) || !strings.Contains(got.Message, `bundle 0 needs {"CPU": 3} (CPU: asked 3, the cluster has at most 2)`) {
		t.Errorf("the group is %+v", got)
	}
	var failed wire.ClassTrouble
	d.Expect(wire.TClassInfeasible, &failed)
	if failed.Code != string(fault.PlacementGroupUnschedulable) || !strings.Contains(failed.Message, "can never be placed") {
		t.Errorf("what waits fails with %+v", failed)
	}
}

// What no bundle of a group can have fails, before the group is created and afterwards.
func TestFlow_Group_TaskIsLargerThanEachBundle_Fails(t *testing.T) {
	s := play.Start(t, 4)
	d := s.Driver(nil)
	id := groupMade(d, nil, map[string]float64{"CPU": 1}, map[string]float64{"CPU": 2})
	for class, bundle := range map[uint32]int{1: 0, 2: -1} {
		groupClass(d, class, id, bundle, map[string]float64{"CPU": 3})
		for range 2 {
			d.Want(class, 1)
			var failed wire.ClassTrouble
			d.Expect(wire.TClassInfeasible, &failed)
			if failed.ClassID != class || failed.Code != string(fault.TaskUnschedulable) || !strings.Contains(failed.Message, id.String()) {
				t.Errorf("class %d fails with %+v", class, failed)
			}
		}
	}
}

// An actor of a group ends with it, and says why.
func TestFlow_Group_Removed_ItsActorsEnd(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id := groupMade(d, nil, map[string]float64{"CPU": 1})
	in := func(q *wire.ActorCreate) {
		q.Strategy, q.RunResources, q.MaxRestarts = inBundle(id, 0), q.Resources, -1
	}
	runs := d.Made("", in)
	if a := d.Resolve(runs, 0); a.State != string(record.ActorAlive) {
		t.Fatalf("the actor is %+v", a)
	}
	waits := d.Made("", in)
	d.Call(wire.TGroupRemove, wire.GroupRef{GroupID: id[:]}, nil)
	for _, a := range []ids.Actor{runs, waits} {
		if got := d.Resolve(a, 1); got.State != string(record.ActorDead) || got.Cause != string(fault.PlacementGroupRemoved) || !strings.Contains(got.Message, "its placement group was removed") {
			t.Errorf("an actor is %+v", got)
		}
	}
	later := d.Made("", in)
	if got := d.Resolve(later, 0); got.State != string(record.ActorDead) || got.Cause != string(fault.PlacementGroupRemoved) {
		t.Errorf("an actor that comes later is %+v", got)
	}
	play.Eventually(t, "everything is free", func() bool { return d.Info().Available["CPU"] == 20000 })
}

// Groups end with the driver that has made them, unless they are detached.
func TestFlow_Group_DriverLeaves_DetachedOnesStay(t *testing.T) {
	s := play.Start(t, 4)
	d, other := s.Driver(nil), s.Driver(nil)
	own := groupMade(d, nil, map[string]float64{"CPU": 1})
	stays := groupMade(d, func(q *wire.GroupCreate) { q.Detached, q.Name = true, "stays" }, map[string]float64{"CPU": 2})
	for _, id := range []ids.Group{own, stays} {
		if got := groupIs(other, id); got.State != string(record.GroupCreated) {
			t.Fatalf("the group is %+v", got)
		}
	}
	d.Peer.Close()
	if got := func() (s wire.GroupState) {
		other.Call(wire.TGroupWait, wire.GroupWait{GroupID: own[:], Seen: string(record.GroupCreated), TimeoutMs: -1}, &s)
		return s
	}(); got.State != string(record.GroupRemoved) || !strings.Contains(got.Message, "has ended") {
		t.Errorf("the group is %+v", got)
	}
	play.Eventually(t, "the detached group's part is set aside", func() bool { return other.Info().Available["CPU"] == 20000 })
	groupClass(other, 1, stays, 0, map[string]float64{"CPU": 2})
	other.Want(1, 1)
	if h := other.Lease(); h.Assignment.Resources["CPU"] != 20000 {
		t.Errorf("a task of another job gets %+v", h.Assignment)
	}
}

// Requests that make no sense are refused, and say what is wrong.
func TestFlow_Group_RequestIsWrong_SaysWhy(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	id, alien := ids.NewGroup(ids.Job(d.Job.JobID)), ids.NewGroup(ids.JobOf(77))
	one := []wire.GroupBundle{{Resources: map[string]int64{"CPU": 10000}}}
	for says, q := range map[string]wire.GroupCreate{
		"has 18 bytes, this one has 3":       {GroupID: []byte("abc"), Strategy: "PACK", Bundles: one},
		"its id belongs to another job":      {GroupID: alien[:], Strategy: "PACK", Bundles: one},
		`placement strategy "pack" is not`:   {GroupID: id[:], Strategy: "pack", Bundles: one},
		"has 0 bundles":                      {GroupID: id[:], Strategy: "PACK"},
		"asks for nothing":                   {GroupID: id[:], Strategy: "PACK", Bundles: []wire.GroupBundle{{}}},
		"CPU":                                {GroupID: id[:], Strategy: "PACK", Bundles: []wire.GroupBundle{{Resources: map[string]int64{"CPU": -1}}}},
		"the name of a placement group has ": {GroupID: id[:], Strategy: "PACK", Bundles: one, Name: strings.Repeat("n", 5000)},
	} {
		if err := d.Try(wire.TGroupCreate, q, nil); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error with %q", err, says)
		}
	}
	for what, err := range map[string]error{
		"remove": d.Try(wire.TGroupRemove, wire.GroupRef{GroupID: []byte("abc")}, nil), "find": d.Try(wire.TGroupFind, wire.GroupFind{GroupID: []byte("abc")}, nil),
		"wait": d.Try(wire.TGroupWait, wire.GroupWait{GroupID: []byte("abc")}, nil),
	} {
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "has 18 bytes, this one has 3") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Try(wire.TGroupRemove, wire.GroupRef{GroupID: id[:]}, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a group that is not there is removed: %v", err)
	}
	if err := d.Try(wire.TGroupWait, wire.GroupWait{GroupID: id[:], TimeoutMs: 1}, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a group that is not there is waited for: %v", err)
	}
}
