package daemon

import (
	"strings"
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
		if d.PlaceActor(rec); d.actors[rec.ID] != there {
			t.Errorf("incarnation %d takes the place of the third", incarnation)
		}
	}
	rec.Incarnation = 4
	d.PlaceActor(rec)
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.actors[rec.ID]; a == there || a == nil || a.rec.Incarnation != 4 {
		t.Errorf("the fourth incarnation is not placed: %+v", a)
	}
}

func TestDeathText_NamesTheActorAndTheReason(t *testing.T) {
	d := &Daemon{o: Options{Address: "192.0.2.1"}}
	a := &record.Actor{ID: ids.Actor{7}, ClassName: "Counter", Name: "it", Namespace: "ns", Pid: 5, MaxRestarts: 2, NumRestarts: 2}
	again := " It was restarted as often as max_restarts allows, which is 2."
	for reason, want := range map[record.Reason]string{
		record.Killed:      "it was killed by `ray.kill`." + again,
		record.Released:    "all references to it were removed.",
		record.WorkerDied:  "its worker process has died: detail." + again,
		record.Exited:      "its worker process has ended on purpose: detail.",
		record.OwnerDied:   "its owner has died: detail.",
		record.JobEnded:    "its job has ended: detail.",
		record.StartFailed: "it could not be started: detail.",
		record.EnvFailed:   "its runtime environment could not be made: detail.",
		record.OutOfMemory: "its node ran out of memory: detail." + again,
		record.GPUMemory:   "it used more of a GPU's memory than it had asked for: detail." + again,
		record.NodeDied:    "its node has died: detail." + again,
		"unheard of":       "unheard of: detail.",
	} {
		a.Cause = record.Cause{Reason: reason, Message: "detail."}
		got := d.deathText(a)
		head := "\tclass_name: Counter\n\tactor_id: " + a.ID.String() + "\n\tpid: 5\n\tname: it\n\tnamespace: ns\n\tip: 192.0.2.1\n"
		if got != head+"The actor is dead because "+want {
			t.Errorf("%s: got\n%s", reason, got)
		}
	}
	a.Cause = record.Cause{Reason: record.WorkerDied}
	if a.NumRestarts = 1; !strings.HasSuffix(d.deathText(a), "its worker process has died.") {
		t.Errorf("got %s", d.deathText(a))
	}
	a.NumRestarts, a.MaxRestarts = 3, -1
	if text := d.deathText(a); strings.Contains(text, "as often") {
		t.Errorf("one that restarts without end: %s", text)
	}
	a.Pid, a.Previous.Pid = 0, 4
	if text := d.actorLines(a, 0); !strings.Contains(text, "pid: 4\n") {
		t.Errorf("got %s", text)
	}
	if text := d.actorLines(a, 9); !strings.Contains(text, "pid: 9\n") || strings.Contains(text, "pid: 4") {
		t.Errorf("got %s", text)
	}
}
