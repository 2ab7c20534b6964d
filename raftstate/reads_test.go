package raftstate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// What is read comes in the order of registration, and only what matches.
func TestNode_Reads_InOrderOfRegistration(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	for _, i := range []byte{9, 7, 5, 3, 1} { // not in the order of their ids
		if err := n.RegisterActor(ctx, record.Actor{ID: ids.Actor{i}, Namespace: "ns", Name: fmt.Sprint("a", i), Owner: ids.Owner{i / 4}, Spec: []byte("spec"), Meta: []byte("meta")}); err != nil {
			t.Fatal(err)
		}
		if err := n.RegisterNode(ctx, record.Node{ID: ids.Node{i}}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.StartJob(ctx, record.Job{Entrypoint: fmt.Sprint("j", i)}); err != nil {
			t.Fatal(err)
		}
	}
	var actors, nodes, jobs, some []byte
	for _, a := range n.ActorsOf(record.ActorFilter{}) {
		if a.Spec != nil || a.Meta != nil {
			t.Error("a list of actors comes with what they are made from")
		}
		actors = append(actors, a.ID[0])
	}
	for _, a := range n.ActorsOf(record.ActorFilter{Owner: ids.Owner{1}}) {
		some = append(some, a.ID[0])
	}
	for _, x := range n.ListNodes() {
		nodes = append(nodes, x.ID[0])
	}
	for _, j := range n.ListJobs() {
		jobs = append(jobs, j.Entrypoint[1]-'0')
	}
	if got := fmt.Sprint(actors, nodes, jobs, some); got != "[9 7 5 3 1] [9 7 5 3 1] [9 7 5 3 1] [7 5]" {
		t.Errorf("got %s", got)
	}
	if a, ok := n.ActorNamed("ns", "a3"); !ok || a.ID[0] != 3 {
		t.Errorf("got %+v, %v", a, ok)
	}
	_, other := n.ActorNamed("other", "a3")
	_, actor := n.Actor(ids.Actor{2})
	_, node := n.Node(ids.Node{2})
	_, job := n.Job(ids.JobOf(99))
	_, value := valueOf(t, n, "ns", "k")
	_, setting := n.Setting("s")
	if other || actor || node || job || value || setting {
		t.Error("what nobody registered is found")
	}
	if err := n.ActorDead(ctx, ids.Actor{3}, 1, record.Cause{Reason: record.Killed}, 5); err != nil {
		t.Fatal(err)
	}
	if _, ok := n.ActorNamed("ns", "a3"); ok {
		t.Error("a dead actor has its name")
	}
	for what, c := range map[string]struct{ err, want error }{
		"dead":       {n.ActorDead(ctx, ids.Actor{3}, 1, record.Cause{}, 6), record.ErrDead},
		"stale":      {n.ActorDead(ctx, ids.Actor{5}, 7, record.Cause{}, 6), record.ErrStale},
		"not found":  {n.ActorReleased(ctx, ids.Actor{2}), record.ErrNotFound},
		"exists":     {n.RegisterActor(ctx, record.Actor{ID: ids.Actor{5}}), record.ErrExists},
		"name taken": {n.RegisterActor(ctx, record.Actor{ID: ids.Actor{6}, Namespace: "ns", Name: "a5"}), record.ErrNameTaken},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v", what, c.err)
		}
	}
}
