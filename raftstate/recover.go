package raftstate

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Stored is what a member's stores have, without the member running.
type Stored struct {
	Members []Member
	Index   uint64 // of the last entry
	Term    uint64 // in which that was written
	// Blobs are the large values that the state names, with all entries of the log, committed or not.
	Blobs []NamedBlob
}

// Inspect reads what stores have.
func Inspect(id string, s Stores) (st Stored, err error) {
	o := Options{ID: id, Stores: s}
	if err := o.complete(); err != nil {
		return st, err
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	defer transport.Close()
	f := newFSM(o, false)
	c, err := raft.GetConfiguration(o.offline(), f, s.Log, s.Stable, s.Snapshots, transport)
	if err != nil {
		return st, fmt.Errorf("read the members in the state: %w", err)
	}
	for _, x := range c.Servers {
		st.Members = append(st.Members, Member{ID: string(x.ID), Address: string(x.Address), Voter: x.Suffrage == raft.Voter})
	}
	if st.Index, err = s.Log.LastIndex(); err != nil {
		return st, err
	}
	if st.Blobs, err = blobsIn(f, s.Log); err != nil {
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

// blobsIn returns the large values that a state names when all entries of a log are applied to it.
func blobsIn(f *fsm, log raft.LogStore) ([]NamedBlob, error) {
	first, err := log.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := log.LastIndex()
	if err != nil {
		return nil, err
	}
	for i := max(first, f.machine.index+1); i <= last && first > 0; i++ {
		var l raft.Log
		if err := log.GetLog(i, &l); err != nil {
			return nil, fmt.Errorf("read entry %d of the log: %w", i, err)
		}
		if l.Type == raft.LogCommand {
			f.Apply(&l)
		}
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.machine.namedBlobs(), nil
}

// recoveryJump is how far all numbers go on after a recovery: those of nodes and jobs, the indexes of the log, which are versions of keys and names of leases, and
// the numbers of events. Lost members may have given away numbers that this one does not know of, and none is given twice.
const recoveryJump = 1 << 20

// Recover makes the member that has the stores the only one, with everything that is in them, committed or not. The member must not run. What other members
// had committed and this one has not is lost. The settings that drop names are deleted. Once more does no harm.
func Recover(id string, s Stores, drop func(setting string) bool) error {
	o := Options{ID: id, Stores: s}
	if err := o.complete(); err != nil {
		return err
	}
	_, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	defer transport.Close()
	f := newFSM(o, false)
	c := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(id), Address: raft.ServerAddress(id)}}}
	err := raft.RecoverCluster(o.offline(), f, s.Log, s.Stable, s.Snapshots, transport, c)
	if err == nil {
		err = f.err()
	}
	if err == nil { // all that there was is a snapshot now, and the log is empty
		err = jump(s.Snapshots, transport, drop)
	}
	if err != nil {
		return fmt.Errorf("make the head the only one: %w", err)
	}
	return nil
}

// jump writes the last snapshot again, with numbers that nobody has been given.
func jump(s raft.SnapshotStore, transport raft.Transport, drop func(setting string) bool) error {
	list, err := s.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("there is no snapshot of the state")
	}
	meta, r, err := s.Open(list[0].ID)
	if err != nil {
		return err
	}
	m, err := ReadSnapshot(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if m.lastNode > math.MaxUint32-recoveryJump || m.lastJob > math.MaxUint32-recoveryJump {
		return errors.New("the numbers of nodes or jobs come to an end")
	}
	m.lastNode += recoveryJump
	m.lastJob += recoveryJump
	m.index = meta.Index + recoveryJump
	m.seq += recoveryJump
	m.keys.Jump(recoveryJump)
	for _, name := range m.Settings() {
		if drop(name) {
			delete(m.settings, name)
		}
	}
	sink, err := s.Create(meta.Version, m.index, meta.Term, meta.Configuration, meta.ConfigurationIndex, transport)
	if err != nil {
		return err
	}
	return frozen{m}.Persist(sink)
}

// offline is raft's configuration for what is done while the member does not run.
func (o *Options) offline() *raft.Config {
	c := o.config()
	c.Logger = hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Error, Output: io.Discard})
	return c
}
