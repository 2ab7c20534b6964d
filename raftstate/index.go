package raftstate

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// actorIndex finds the actors of one owner, of one job or on one node without a look at all
// actors: each process that has created actors asks for them when it ends. It holds every actor
// that the machine keeps, dead ones too. It follows from the actors, so a snapshot leaves it out.
type actorIndex struct {
	byOwner actorSets[ids.Owner]
	byJob   actorSets[ids.Job]
	byNode  actorSets[ids.Node]
}

func newActorIndex() actorIndex {
	return actorIndex{byOwner: actorSets[ids.Owner]{}, byJob: actorSets[ids.Job]{}, byNode: actorSets[ids.Node]{}}
}

// keys are what an actor is found by.
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
func (x *actorIndex) move(old, now *record.Actor) {
	was, is := keysOf(old), keysOf(now)
	if was == is {
		return
	}
	x.byOwner.remove(was.owner, was.id)
	x.byOwner.add(is.owner, is.id)
	x.byJob.remove(was.job, was.id)
	x.byJob.add(is.job, is.id)
	x.byNode.remove(was.node, was.id)
	x.byNode.add(is.node, is.id)
}

// candidates returns the smallest set that holds every actor which matches the filter. It
// reports false when only a look at all actors finds them.
func (x *actorIndex) candidates(f *record.ActorFilter) (few map[ids.Actor]struct{}, indexed bool) {
	consider := func(set map[ids.Actor]struct{}) {
		if !indexed || len(set) < len(few) {
			few, indexed = set, true
		}
	}
	if f.Owner != (ids.Owner{}) {
		consider(x.byOwner[f.Owner])
	}
	if f.Job != (ids.Job{}) {
		consider(x.byJob[f.Job])
	}
	if f.Node != (ids.Node{}) {
		consider(x.byNode[f.Node])
	}
	return few, indexed
}

// actorSets are sets of actors by a key. The zero key stands for none, and has no set.
type actorSets[K comparable] map[K]map[ids.Actor]struct{}

func (s actorSets[K]) add(k K, id ids.Actor) {
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
func (s actorSets[K]) remove(k K, id ids.Actor) {
	delete(s[k], id)
	if len(s[k]) == 0 {
		delete(s, k)
	}
}
