package actortable

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// name is an actor's name in its namespace.
type name struct{ namespace, name string }

// Table has the records of actors, those of dead ones too.
type Table struct {
	all     map[ids.Actor]*record.Actor
	names   map[name]ids.Actor // of live actors
	byOwner sets[ids.Owner]
	byJob   sets[ids.Job]
	byNode  sets[ids.Node]
}

// New returns an empty table.
func New() *Table {
	return &Table{
		all: map[ids.Actor]*record.Actor{}, names: map[name]ids.Actor{},
		byOwner: sets[ids.Owner]{}, byJob: sets[ids.Job]{}, byNode: sets[ids.Node]{},
	}
}

// Clone returns a copy for All and Get, which does not change with the table. It finds nothing by anything but an id.
func (t *Table) Clone() *Table { return &Table{all: maps.Clone(t.all)} }

// Get returns an actor's record, nil if there is none.
func (t *Table) Get(id ids.Actor) *record.Actor { return t.all[id] }

// Named returns the live actor with the name, nil if there is none.
func (t *Table) Named(namespace, actor string) *record.Actor {
	id, ok := t.names[name{namespace, actor}]
	if !ok {
		return nil
	}
	return t.all[id]
}

// Len returns how many records there are.
func (t *Table) Len() int { return len(t.all) }

// IDs gives the ids of all actors, in no order.
func (t *Table) IDs() iter.Seq[ids.Actor] { return maps.Keys(t.all) }

// All gives all records, in no order.
func (t *Table) All() iter.Seq2[ids.Actor, *record.Actor] { return maps.All(t.all) }

// Put stores the record of a new actor, or a new record of one that is there. An actor's name never changes.
func (t *Table) Put(a *record.Actor) {
	old := t.all[a.ID]
	t.move(old, a)
	t.all[a.ID] = a
	if a.Name == "" {
		return
	}
	switch lived := old != nil && old.Live(); {
	case !lived && a.Live():
		t.names[name{a.Namespace, a.Name}] = a.ID
	case lived && !a.Live():
		delete(t.names, name{a.Namespace, a.Name})
	}
}

// Forget drops the record of an actor that is dead.
func (t *Table) Forget(id ids.Actor) {
	t.move(t.all[id], nil)
	delete(t.all, id)
}

// Of returns the actors that match the filter, in order of registration and without Spec
// and Meta. It looks at all actors only when the filter names no owner, job, node or name.
func (t *Table) Of(f *record.ActorFilter) []record.Actor {
	var list []record.Actor
	add := func(a *record.Actor) {
		if f.Match(a) {
			list = append(list, *a.Brief())
		}
	}
	switch few, indexed := t.candidates(f); {
	case indexed:
		for id := range few {
			add(t.all[id])
		}
	case f.Named && f.Live:
		for _, id := range t.names {
			add(t.all[id])
		}
	default:
		for _, a := range t.all {
			add(a)
		}
	}
	slices.SortFunc(list, func(a, b record.Actor) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return list
}

// OfJob gives the records of a job's actors, in no order.
func (t *Table) OfJob(job ids.Job) iter.Seq[*record.Actor] {
	return func(yield func(*record.Actor) bool) {
		for id := range t.byJob[job] {
			if !yield(t.all[id]) {
				return
			}
		}
	}
}

// keys are what an actor is found by, beside its name.
type keys struct {
	id    ids.Actor
	owner ids.Owner
	job   ids.Job
	node  ids.Node
}

// keysOf returns the keys of a record, none for nil.
func keysOf(a *record.Actor) keys {
	if a == nil {
		return keys{}
	}
	return keys{a.ID, a.Owner, a.Job, a.Node}
}

// move puts an actor where its new record belongs. The old record is nil for an actor that is
// new, and the new one for an actor that is forgotten.
func (t *Table) move(old, now *record.Actor) {
	was, is := keysOf(old), keysOf(now)
	if was == is {
		return
	}
	t.byOwner.remove(was.owner, was.id)
	t.byOwner.add(is.owner, is.id)
	t.byJob.remove(was.job, was.id)
	t.byJob.add(is.job, is.id)
	t.byNode.remove(was.node, was.id)
	t.byNode.add(is.node, is.id)
}

// candidates returns the smallest set that holds every actor which matches the filter. It
// reports false when only a look at all actors finds them.
func (t *Table) candidates(f *record.ActorFilter) (few map[ids.Actor]struct{}, indexed bool) {
	consider := func(set map[ids.Actor]struct{}) {
		if !indexed || len(set) < len(few) {
			few, indexed = set, true
		}
	}
	if f.Owner != (ids.Owner{}) {
		consider(t.byOwner[f.Owner])
	}
	if f.Job != (ids.Job{}) {
		consider(t.byJob[f.Job])
	}
	if f.Node != (ids.Node{}) {
		consider(t.byNode[f.Node])
	}
	return few, indexed
}

// sets are sets of actors by a key. The zero key stands for none, and has no set.
type sets[K comparable] map[K]map[ids.Actor]struct{}

func (s sets[K]) add(k K, id ids.Actor) {
	var none K
	if k == none {
		return
	}
	if s[k] == nil {
		s[k] = map[ids.Actor]struct{}{}
	}
	s[k][id] = struct{}{}
}

// remove takes an actor out of a set. A set that is empty goes.
func (s sets[K]) remove(k K, id ids.Actor) {
	delete(s[k], id)
	if len(s[k]) == 0 {
		delete(s, k)
	}
}
