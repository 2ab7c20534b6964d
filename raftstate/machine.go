package raftstate

import (
	"maps"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/actortable"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
	"github.com/eagleray/eagleray/raftstate/internal/grouptable"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// How many ended things the machine keeps. The oldest are forgotten first.
const (
	keptDeadActors = 500
	keptEndedJobs  = 1_000
	keptDeadNodes  = 1_000
)

// Machine is the deterministic state machine. It is not safe for concurrent
// use; fsm locks it. Records behind its pointers never change.
type Machine struct {
	index uint64 // last command applied
	seq   uint64 // last event made

	nodes    map[ids.Node]*record.Node
	lastNode uint32
	jobs     map[ids.Job]*record.Job
	lastJob  uint32
	drivers  map[ids.Owner]ids.Job // the jobs that are kept, by the process that started them
	actors   *actortable.Table
	groups   *grouptable.Table
	kv       map[string]map[string]values.Value
	settings map[string][]byte
	keys     *keyspace.Space // of Go programs

	// Ids of what has ended, oldest first.
	deadNodes  []ids.Node
	endedJobs  []ids.Job
	deadActors []ids.Actor

	blobs *values.Counts // of records that name large values

	classes *classes.Table

	answered *answered.Table[Result]
	out      []record.Event // of the command being applied
}

// NewMachine returns an empty machine.
func NewMachine() *Machine {
	counts := values.NewCounts()
	return &Machine{
		nodes:    map[ids.Node]*record.Node{},
		jobs:     map[ids.Job]*record.Job{},
		drivers:  map[ids.Owner]ids.Job{},
		actors:   actortable.New(),
		groups:   grouptable.New(),
		kv:       map[string]map[string]values.Value{},
		blobs:    counts,
		classes:  classes.New(counts),
		settings: map[string][]byte{},
		keys:     keyspace.New(),
		answered: answered.New[Result](),
	}
}

// Apply applies the command at a log index. A retry of an applied command
// changes nothing and returns the first result. The machine keeps what the
// body points to.
func (m *Machine) Apply(index uint64, c Command) (Result, []record.Event) {
	m.index = index
	q := answered.Request{ID: c.Request, Answered: c.Answered, Seen: c.Seen}
	switch r, v := m.answered.Find(q); v {
	case answered.Known:
		return r, nil
	case answered.Expired:
		return Result{Outcome: Expired}, nil
	}
	m.out = nil
	r := c.Body.apply(m)
	r.Index = index
	m.answered.Keep(q, index, r)
	return r, m.out
}

// emit numbers an event.
func (m *Machine) emit(e record.Event) {
	m.seq++
	e.Seq = m.seq
	m.out = append(m.out, e)
}

// clone returns a copy that shares the records, for a snapshot.
func (m *Machine) clone() *Machine {
	c := *m
	c.nodes = maps.Clone(m.nodes)
	c.jobs = maps.Clone(m.jobs)
	c.actors = m.actors.Clone()
	c.groups = m.groups.Clone()
	c.classes = m.classes.Clone()
	c.kv = make(map[string]map[string]values.Value, len(m.kv))
	for ns, keys := range m.kv {
		c.kv[ns] = maps.Clone(keys)
	}
	c.settings = maps.Clone(m.settings)
	c.blobs = nil // derived from the records
	c.keys = m.keys.Clone()
	c.deadNodes = append([]ids.Node(nil), m.deadNodes...)
	c.endedJobs = append([]ids.Job(nil), m.endedJobs...)
	c.deadActors = append([]ids.Actor(nil), m.deadActors...)
	c.answered = m.answered.Clone()
	c.out = nil
	return &c
}

// appendBounded appends an id to a list of at most limit ids. When the list is full, it returns
// the oldest id, which has to be forgotten.
func appendBounded[T any](list []T, id T, limit int) (rest []T, forget T, full bool) {
	list = append(list, id)
	if len(list) <= limit {
		return list, forget, false
	}
	return list[1:], list[0], true
}
