package raftstate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// deref returns the record, if there is one.
func deref[T any](p *T) (v T, ok bool) {
	if p != nil {
		return *p, true
	}
	return v, false
}

// Actor returns an actor's record, dead ones too.
func (m *Machine) Actor(id ids.Actor) (record.Actor, bool) { return deref(m.actors.Get(id)) }

// ActorNamed returns the live actor with the name.
func (m *Machine) ActorNamed(namespace, actor string) (record.Actor, bool) {
	return deref(m.actors.Named(namespace, actor))
}

// ActorsOf returns the actors that match the filter, in order of registration and without Spec
// and Meta. It looks at all actors only when the filter names no owner, job, node or name.
func (m *Machine) ActorsOf(f record.ActorFilter) []record.Actor { return m.actors.Of(&f) }

// Node returns a node's record.
func (m *Machine) Node(id ids.Node) (record.Node, bool) { return deref(m.nodes[id]) }

// ListNodes returns all nodes in order of registration.
func (m *Machine) ListNodes() []record.Node {
	var list []record.Node
	for _, n := range m.nodes {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b record.Node) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return list
}

// Job returns a job's record.
func (m *Machine) Job(id ids.Job) (record.Job, bool) { return deref(m.jobs[id]) }

// ListJobs returns all jobs in order of their numbers.
func (m *Machine) ListJobs() []record.Job {
	var list []record.Job
	for _, j := range m.jobs {
		list = append(list, *j)
	}
	slices.SortFunc(list, func(a, b record.Job) int {
		return cmp.Compare(record.JobNumber(a.ID), record.JobNumber(b.ID))
	})
	return list
}

// KVKeys returns the keys that begin with prefix, in order.
func (m *Machine) KVKeys(namespace, prefix string) []string {
	var keys []string
	for k := range m.kv[namespace] {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Setting returns a setting.
func (m *Machine) Setting(setting string) ([]byte, bool) {
	v, ok := m.settings[setting]
	return v, ok
}

// Settings returns the settings' names, in order.
func (m *Machine) Settings() []string { return slices.Sorted(maps.Keys(m.settings)) }
