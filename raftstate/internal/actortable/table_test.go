package actortable

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// scan finds the actors of a filter as the table would without its indexes.
func scan(m *Table, f record.ActorFilter) (found []ids.Actor) {
	for id, a := range m.all {
		if f.Match(a) {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b ids.Actor) int { return int(m.all[a].Ordinal) - int(m.all[b].Ordinal) })
	return found
}

// check holds that the table finds what a look at all actors finds, for every filter of
// the keys that are in use, and that they keep nothing else.
func check(t *testing.T, m *Table) {
	t.Helper()
	owners, jobs, nodes := map[ids.Owner]bool{{}: true, {99}: true}, map[ids.Job]bool{{}: true, {99}: true}, map[ids.Node]bool{{}: true, {99}: true}
	sum := 0
	for _, a := range m.all {
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
					for _, a := range m.Of(&f) {
						got = append(got, a.ID)
					}
					if want := scan(m, f); !slices.Equal(got, want) {
						t.Fatalf("%+v: got %v, a look at all actors finds %v", f, got, want)
					}
				}
			}
		}
	}
	for _, n := range []int{entries(t, m.byOwner), entries(t, m.byJob), entries(t, m.byNode)} {
		sum -= n
	}
	if sum != 0 {
		t.Fatalf("the indexes lack %d entries", sum)
	}
	named := map[name]ids.Actor{}
	for id, a := range m.all {
		if a.Live() && a.Name != "" {
			named[name{a.Namespace, a.Name}] = id
			if m.Named(a.Namespace, a.Name) != a || m.Get(id) != a {
				t.Fatalf("actor %s is not found", id)
			}
		}
	}
	if !maps.Equal(named, m.names) {
		t.Fatalf("the names are %v, want %v", m.names, named)
	}
	for job := range jobs {
		n := 0
		for a := range m.OfJob(job) {
			if n++; a.Job != job || m.all[a.ID] != a {
				t.Fatalf("%s is given for job %s", a, job)
			}
		}
		if want := len(scan(m, record.ActorFilter{Job: job})); n != want && job != (ids.Job{}) {
			t.Fatalf("%d actors of job %s are given, want %d", n, job, want)
		}
	}
}

// entries counts the actors in sets, none of which may be empty.
func entries[K comparable](t *testing.T, s sets[K]) (n int) {
	t.Helper()
	for k, set := range s {
		if len(set) == 0 {
			t.Fatalf("%v has an empty set", k)
		}
		n += len(set)
	}
	return n
}

// Actors are added, move, die and are forgotten: the table finds what a look at all actors finds. A clone stays as it was.
func TestTable_ActorsChangeAndAreForgotten_FindsWhatAScanFinds(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 4))
		m := New()
		clone, was := m.Clone(), map[ids.Actor]*record.Actor{}
		for i := range 400 {
			id := ids.Actor{byte(r.IntN(60)), 1}
			old := m.Get(id)
			switch {
			case old == nil:
				a := &record.Actor{
					ID: id, State: record.ActorPending, Ordinal: uint64(i), Owner: ids.Owner{byte(r.IntN(5))}, Job: ids.JobOf(uint32(r.IntN(3))), Detached: r.IntN(3) == 0,
				}
				if a.Name = []string{"", "a", "b", "c"}[r.IntN(4)]; a.Name != "" {
					a.Namespace = []string{"x", "y"}[r.IntN(2)]
				}
				if a.Name == "" || m.Named(a.Namespace, a.Name) == nil {
					m.Put(a)
				}
			case !old.Live():
				m.Forget(id)
			default:
				next := *old
				next.Node = ids.Node{byte(r.IntN(3))}
				next.State = []record.ActorState{record.ActorAlive, record.ActorRestarting, record.ActorDead}[r.IntN(3)]
				m.Put(&next)
			}
			if i%20 == 0 {
				check(t, m)
			}
			if !maps.Equal(clone.all, was) || clone.Len() != len(was) {
				t.Fatalf("seed %d: a clone has changed", seed)
			}
			if r.IntN(20) == 0 {
				clone, was = m.Clone(), maps.Collect(m.All())
			}
		}
		again := New() // as after a snapshot
		for _, id := range slices.SortedFunc(m.IDs(), func(a, b ids.Actor) int { return int(a[0]) - int(b[0]) }) {
			again.Put(m.Get(id))
		}
		check(t, again)
		if !maps.Equal(again.names, m.names) || again.Len() != m.Len() {
			t.Errorf("seed %d: the records alone give the names %v, want %v", seed, again.names, m.names)
		}
	}
}
