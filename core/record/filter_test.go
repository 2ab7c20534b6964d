package record

import (
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
)

// Each field of a filter excludes the actors for which it does not hold, and a filter that was
// sent asks for the same actors.
func TestActorFilter_Match_EveryFieldHolds(t *testing.T) {
	a := &Actor{ID: ids.Actor{1}, Owner: ids.Owner{1}, Job: ids.Job{1}, Node: ids.Node{1}, Namespace: "ns", Name: "it", State: ActorAlive}
	dead := *a
	dead.State, dead.Name, dead.Detached = ActorDead, "", true
	for _, c := range []struct {
		filter  ActorFilter
		a, dead bool
	}{
		{ActorFilter{}, true, true},
		{ActorFilter{Owner: a.Owner, Job: a.Job, Node: a.Node, Namespace: "ns"}, true, true},
		{ActorFilter{Owner: ids.Owner{2}}, false, false},
		{ActorFilter{Job: ids.Job{2}}, false, false},
		{ActorFilter{Node: ids.Node{2}}, false, false},
		{ActorFilter{Namespace: "other"}, false, false},
		{ActorFilter{Live: true}, true, false},
		{ActorFilter{Named: true}, true, false},
		{ActorFilter{Detached: true}, false, true},
		{ActorFilter{Bound: true}, true, false},
		{ActorFilter{Bound: true, Detached: true}, false, false},
		{ActorFilter{Owner: a.Owner, Job: ids.Job{2}}, false, false},
	} {
		b, err := msgpack.Marshal(&c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var sent ActorFilter
		if err := msgpack.Unmarshal(b, &sent); err != nil || sent != c.filter {
			t.Errorf("%+v arrives as %+v, %v", c.filter, sent, err)
		}
		if got := sent.Match(a); got != c.a {
			t.Errorf("%+v takes the living actor: %v", c.filter, got)
		}
		if got := sent.Match(&dead); got != c.dead {
			t.Errorf("%+v takes the dead detached actor: %v", c.filter, got)
		}
	}
}

func TestResolution_String_SaysWhatBecameOfIt(t *testing.T) {
	a := Actor{Incarnation: 2, Address: "/s"}
	for want, r := range map[string]Resolution{
		"ALIVE incarnation 2 at /s":                  {State: ActorAlive, Actor: a},
		"RESTARTING incarnation 2 after worker_died": {State: ActorRestarting, Actor: a, Message: "worker_died"},
		"DEAD killed":                {State: ActorDead, Message: "killed"},
		"UNSCHEDULABLE needs 8 GPUs": {State: ActorUnschedulable, Message: "needs 8 GPUs"},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
