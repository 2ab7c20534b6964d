package raftstate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// scan finds the actors of a filter as the machine would without its indexes.
func scan(m *Machine, f record.ActorFilter) (found []ids.Actor) {
	for id, a := range m.actors {
		if f.Match(a) {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b ids.Actor) int { return int(m.actors[a].Ordinal) - int(m.actors[b].Ordinal) })
	return found
}

// checkIndex holds that the indexes find what a look at all actors finds, for every filter of
// the keys that are in use, and that they keep nothing else.
func checkIndex(t *testing.T, m *Machine) {
	t.Helper()
	owners, jobs, nodes := map[ids.Owner]bool{{}: true, {99}: true}, map[ids.Job]bool{{}: true, {99}: true}, map[ids.Node]bool{{}: true, {99}: true}
	sum := 0
	for _, a := range m.actors {
		owners[a.Owner], jobs[a.Job], nodes[a.Node] = true, true, true
		for _, none := range []bool{a.Owner == ids.Owner{}, a.Job == ids.Job{}, a.Node == ids.Node{}} {
			if !none {
				sum++
			}
		}
	}
	for owner := range owners {
		for job := range jobs {
			for node := range nodes {
				for more := range 1 << 4 {
					f := record.ActorFilter{Owner: owner, Job: job, Node: node, Live: more&1 > 0, Named: more&2 > 0, Detached: more&4 > 0, Bound: more&8 > 0}
					if more&2 > 0 {
						f.Namespace = "x"
					}
					var got []ids.Actor
					for _, a := range m.ActorsOf(f) {
						got = append(got, a.ID)
					}
					if want := scan(m, f); !slices.Equal(got, want) {
						t.Fatalf("%+v: got %v, a look at all actors finds %v", f, got, want)
					}
				}
			}
		}
	}
	for _, n := range []int{entries(t, m.places.byOwner), entries(t, m.places.byJob), entries(t, m.places.byNode)} {
		sum -= n
	}
	if sum != 0 {
		t.Fatalf("the indexes lack %d entries", sum)
	}
}

// entries counts the actors in sets, none of which may be empty.
func entries[K comparable](t *testing.T, s actorSets[K]) (n int) {
	t.Helper()
	for k, set := range s {
		if len(set) == 0 {
			t.Fatalf("%v has an empty set", k)
		}
		n += len(set)
	}
	return n
}

// The oldest dead actors are forgotten, and the indexes forget them too, before and after a
// snapshot was restored. The machines that share nothing but a snapshot stay equal.
func TestActorIndex_ActorsDieAndAreForgotten_FindsWhatAScanFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m, index := NewMachine(), uint64(0)
	do := func(b Body) {
		index++
		m.Apply(index, Command{Body: b})
	}
	for i := range 2*keptDeadActors + 20 {
		id := ids.Actor{byte(i), byte(i >> 8), 1}
		do(&RegisterActor{record.Actor{
			ID: id, Owner: ids.Owner{byte(r.IntN(5))}, Job: ids.JobOf(uint32(r.IntN(3))), Name: fmt.Sprint(i), Namespace: []string{"x", "y"}[r.IntN(2)], Detached: r.IntN(3) == 0, MaxRestarts: 1,
		}})
		inst := record.Instance{Actor: id, Incarnation: 1, Node: ids.Node{byte(r.IntN(3))}, Worker: ids.Worker{1}, Address: "/s"}
		do(&ActorPlaced{inst})
		do(&ActorAlive{inst, 1})
		switch r.IntN(8) {
		case 0: // it goes on
		case 1:
			do(&ActorRestarting{id, 1, record.Cause{}})
		default:
			do(&ActorDead{id, 0, record.Cause{}, 2})
		}
		if i%200 == 0 {
			checkIndex(t, m)
		}
		if i == keptDeadActors {
			m = restored(t, m)
		}
	}
	if len(m.deadActors) != keptDeadActors {
		t.Fatalf("%d dead actors are kept: no actor was forgotten", len(m.deadActors))
	}
	checkIndex(t, m)
	checkIndex(t, restored(t, m))
}

// BenchmarkActorsOf measures what the end of a process asks of a state with 10,000 actors.
func BenchmarkActorsOf(b *testing.B) {
	m := tenThousand()
	for name, f := range map[string]record.ActorFilter{
		"of one owner": {Owner: ids.Owner{1, 1}, Live: true, Bound: true},
		"of nobody":    {Owner: ids.Owner{0, 0, 1}, Live: true, Bound: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.ActorsOf(f)
			}
		})
	}
}

// tenThousand returns a machine with 10,000 actors of 1,000 owners.
func tenThousand() *Machine {
	m := NewMachine()
	for i := range uint64(10_000) {
		m.Apply(i+1, Command{Body: &RegisterActor{record.Actor{
			ID: ids.NewActor(ids.JobOf(1)), Owner: ids.Owner{byte(i % 250), byte(i % 4)}, ClassName: "Counter",
			Resources: record.Resources{"CPU": 10000}, Spec: make([]byte, 500),
		}}})
	}
	return m
}
