package daemon

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Of classes with a device the name and the wish to enforce are kept, for the
// watch over devices; of others nothing.
func TestDefine_KeepsClassesWithDevices(t *testing.T) {
	for what, q := range map[string]*wire.ClassDefine{
		"a device":                   {Resources: map[string]int64{"GPU": 1}},
		"a device's memory":          {Resources: map[string]int64{"gpu_memory": 1}},
		"a device as an alternative": {Resources: map[string]int64{"CPU": 1}, Fallback: []wire.Alternative{{}, {Resources: map[string]int64{"GPU": 1}}}},
	} {
		c := &client{}
		q.Name, q.Enforce = "f", true
		if c.define(3, q); c.classes[3] != (class{"f", true}) {
			t.Errorf("%s: kept is %+v", what, c.classes)
		}
	}
	c := &client{}
	c.define(3, &wire.ClassDefine{Name: "f", Resources: map[string]int64{"CPU": 1, "GPU": 0}, Fallback: []wire.Alternative{{}}})
	if len(c.classes) != 0 {
		t.Errorf("without a device: kept is %+v", c.classes)
	}
}

func TestPlaceActor_OlderOrSameIncarnation_ChangesNothing(t *testing.T) {
	d, j := opened(t)
	d.SetHead(deafHead{})
	rec := record.Actor{ID: ids.Actor{1}, Job: j.ID, Incarnation: 3, EnvKey: "env", State: record.ActorPending}
	d.mu.Lock()
	d.event(func(m *sched.Machine) { m.AddJob(j.ID, "env") })
	there := &actor{rec: rec}
	d.actors[rec.ID] = there
	d.mu.Unlock()
	for _, incarnation := range []uint64{1, 3} {
		rec.Incarnation = incarnation
		if d.PlaceActor(rec, 0); d.actors[rec.ID] != there {
			t.Errorf("incarnation %d takes the place of the third", incarnation)
		}
	}
	rec.Incarnation = 4
	d.PlaceActor(rec, 0)
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.actors[rec.ID]; a == there || a == nil || a.rec.Incarnation != 4 {
		t.Errorf("the fourth incarnation is not placed: %+v", a)
	}
}

// What the head says of an actor is passed on as it is, so both have the same words for it.
func TestResolution_StatesAreThoseOfTheWire(t *testing.T) {
	for state, want := range map[record.ActorState]string{
		record.ActorAlive: wire.ActorAlive, record.ActorDead: wire.ActorDead,
		record.ActorRestarting: wire.ActorRestarting, record.ActorUnschedulable: wire.ActorUnschedulable,
	} {
		if string(state) != want {
			t.Errorf("the record says %s, the wire %s", state, want)
		}
	}
}
