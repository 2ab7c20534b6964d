package raftstate

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Stored is what a member's stores have, without the member running.
type Stored struct {
	Members []Member
	Index   uint64 // of the last entry
	Term    uint64 // in which that was written
}

// Inspect reads what stores have.
func Inspect(id string, s Stores) (st Stored, err error) {
	o := Options{ID: id, Stores: s}
	if err := o.complete(); err != nil {
		return st, err
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	defer transport.Close()
	c, err := raft.GetConfiguration(o.offline(), newFSM(o, false), s.Log, s.Stable, s.Snapshots, transport)
	if err != nil {
		return st, fmt.Errorf("read the members in the state: %w", err)
	}
	for _, x := range c.Servers {
		st.Members = append(st.Members, Member{ID: string(x.ID), Address: string(x.Address), Voter: x.Suffrage == raft.Voter})
	}
	if st.Index, err = s.Log.LastIndex(); err != nil {
		return st, err
	}
	var l raft.Log
	if st.Index > 0 {
		err = s.Log.GetLog(st.Index, &l)
		st.Term = l.Term
		return st, err
	}
	list, err := s.Snapshots.List()
	if err == nil && len(list) > 0 {
		st.Index, st.Term = list[0].Index, list[0].Term
	}
	return st, err
}

// Recover makes the member that has the stores the only one, with everything that is in them, committed or not. The member must not run. What other members
// had committed and this one has not is lost. After it Open finds a member that leads by itself; Node.Recovered has to follow.
func Recover(id string, s Stores) error {
	o := Options{ID: id, Stores: s}
	if err := o.complete(); err != nil {
		return err
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	defer transport.Close()
	f := newFSM(o, false)
	c := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(id), Address: raft.ServerAddress(id)}}}
	if err := raft.RecoverCluster(o.offline(), f, s.Log, s.Stable, s.Snapshots, transport, c); err != nil {
		return fmt.Errorf("make the head the only one: %w", err)
	}
	return f.err()
}

// offline is raft's configuration for what is done while the member does not run.
func (o *Options) offline() *raft.Config {
	c := o.config()
	c.Logger = hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Error, Output: io.Discard})
	return c
}

// counterJump is how far the counters of numbers go on after a recovery: lost members may have given away numbers that this one does not know of.
const counterJump = 1 << 20

// Recovered notes that the state was recovered from a part of the members: numbers that are given from now on are none that a lost member may have given.
func (x Changes) Recovered(ctx context.Context) error { return x.do(ctx, &Recovered{}) }

func (b *Recovered) kind() Kind      { return KindRecovered }
func (b *Recovered) subject() string { return "recovery" }
func (b *Recovered) check() error    { return nil }

func (b *Recovered) apply(m *Machine) Result {
	if m.lastNode > 1<<32-1-counterJump || m.lastJob > 1<<32-1-counterJump {
		return Result{Outcome: Invalid}
	}
	m.lastNode += counterJump
	m.lastJob += counterJump
	return Result{}
}
