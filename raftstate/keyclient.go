package raftstate

import (
	"context"

	"github.com/eagleray/eagleray/core/record"
)

// The methods of the key-value store: what core/internal/head declares as its Keys.

// WriteKey changes a key, or says why not. An error means that there is no answer.
func (x Changes) WriteKey(ctx context.Context, w record.KeyWrite) (record.KeyWritten, error) {
	r, err := x.Apply(ctx, Command{Body: &KeyWrite{w}})
	switch r.Outcome {
	case Conflict:
		return record.KeyWritten{Outcome: record.KeyConflict, Version: uint64(r.Count)}, nil
	case NotFound: // there was nothing to delete
		return record.KeyWritten{}, nil
	case LeaseGone:
		return record.KeyWritten{Outcome: record.KeyLeaseGone}, nil
	case KeysFull:
		return record.KeyWritten{Outcome: record.KeysFull}, nil
	case LeaseFull:
		return record.KeyWritten{Outcome: record.KeyLeaseFull}, nil
	}
	return record.KeyWritten{Version: r.Index}, err
}

// Key returns a key's pair, as this member's state has it.
func (n *Node) Key(key string) (p record.KeyPair, found bool) {
	n.fsm.view(func(m *Machine) { p, found = m.keys.Get(key) })
	return p, found
}

// ListKeys returns the pairs with the prefix, as this member's state has them.
func (n *Node) ListKeys(prefix string) (l record.KeyList) {
	n.fsm.view(func(m *Machine) { l = m.keys.List(prefix) })
	return l
}

// GrantKeyLease makes a lease. It returns record.KeyLeaseFull when there are too many.
func (x Changes) GrantKeyLease(ctx context.Context, ttlMs int64) (record.KeyLeased, error) {
	r, err := x.Apply(ctx, Command{Body: &KeyLeaseGrant{ttlMs}})
	if r.Outcome == LeaseFull {
		return record.KeyLeased{Outcome: record.KeyLeaseFull}, nil
	}
	return record.KeyLeased{ID: r.Index}, err
}

// EndKeyLease ends a lease. Reign is the leadership that has counted its time; 0: the holder has ended it. A lease that is gone
// is no error; record.ErrStale says that another leadership has begun.
func (x Changes) EndKeyLease(ctx context.Context, id, reign uint64) error {
	r, err := x.Apply(ctx, Command{Body: &KeyLeaseEnd{id, reign}})
	if r.Outcome == LeaseGone {
		return nil
	}
	return err
}

// BeginKeyReign begins a leadership, and returns its name.
func (x Changes) BeginKeyReign(ctx context.Context) (uint64, error) {
	r, err := x.Apply(ctx, Command{Body: &KeyReign{}})
	return r.Index, err
}

// KeyReign returns the name of the last leadership that this member's state has.
func (n *Node) KeyReign() (reign uint64) {
	n.fsm.view(func(m *Machine) { reign = m.keys.Reign() })
	return reign
}

// KeyLeases returns the leases, as this member's state has them.
func (n *Node) KeyLeases() (list []record.KeyLease) {
	n.fsm.view(func(m *Machine) { list = m.keys.Leases() })
	return list
}

// KeyLease returns a lease, as this member's state has it.
func (n *Node) KeyLease(id uint64) (l record.KeyLease, found bool) {
	n.fsm.view(func(m *Machine) { l, found = m.keys.Lease(id) })
	return l, found
}
