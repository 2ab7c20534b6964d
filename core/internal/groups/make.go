package groups

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Maker is the process that makes a group.
type Maker struct {
	Job       ids.Job
	Namespace string
	Owner     ids.Owner
	Actor     ids.Actor // that runs in the process; zero: none does
	Lasting   bool      // the process works for a detached actor
	Waits     bool      // its cluster may grow, so a group waits for nodes that may come
}

// Record returns the record of a group that a process asks for.
func Record(by Maker, m *wire.Message) (g record.Group, err error) {
	var q wire.GroupCreate
	if err := m.Decode(&q); err != nil {
		return g, err
	}
	if len(q.GroupID) != ids.GroupSize {
		return g, fault.New(fault.BadRequest, "the id of a placement group has %d bytes, this one has %d", ids.GroupSize, len(q.GroupID))
	}
	g = record.Group{
		ID: ids.Group(q.GroupID), Job: by.Job, Name: q.Name, Namespace: q.Namespace, Owner: by.Owner, Actor: by.Actor, Detached: q.Detached, Lasting: by.Lasting,
		Waits: by.Waits || q.Waits, Strategy: q.Strategy, CreatedMs: time.Now().UnixMilli(),
	}
	if g.Namespace == "" {
		g.Namespace = by.Namespace
	}
	for i := range q.Bundles {
		g.Bundles = append(g.Bundles, record.Bundle{Resources: q.Bundles[i].Resources, Labels: q.Bundles[i].Labels})
		if _, err := labels.Parse(q.Bundles[i].Labels); err != nil {
			return g, fault.New(fault.BadRequest, "%s: bundle %d: %v", &g, i, err)
		}
	}
	if ids.Job(g.ID[ids.GroupSize-ids.JobSize:]) != by.Job {
		return g, fault.New(fault.BadRequest, "%s: its id belongs to another job", &g)
	}
	if _, err := packing.Parse(q.Strategy); err != nil {
		return g, fault.New(fault.BadRequest, "%s: %v", &g, err)
	}
	return g, g.Check()
}
