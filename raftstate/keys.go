package raftstate

import (
	"fmt"

	"github.com/eagleray/eagleray/core/record"
)

// The key-value store of Go programs, and its leases. What the commands do is package keyspace's business.

// KeyWrite changes one key. Result.Count is the version that the key has when the outcome is Conflict.
type KeyWrite struct {
	Write record.KeyWrite `msgpack:"w"`
}

// KeyLeaseGrant makes a lease, whose name is Result.Index.
type KeyLeaseGrant struct {
	TTLMs int64 `msgpack:"ttl"`
}

// KeyLeaseEnd ends a lease and deletes its keys. Reign is the leadership that has counted its time; 0: the holder has ended it.
type KeyLeaseEnd struct {
	ID    uint64 `msgpack:"id"`
	Reign uint64 `msgpack:"reign"`
}

// KeyReign begins a leadership, whose name is Result.Index.
type KeyReign struct{}

// Mark changes nothing. A member that has applied it shows all that was committed before it.
type Mark struct{}

// outcomes says what the machine's answer to a KeyWrite or a KeyLeaseGrant is in a Result.
var outcomes = map[record.KeyOutcome]Outcome{
	record.KeyDone: Done, record.KeyConflict: Conflict, record.KeyLeaseGone: LeaseGone, record.KeysFull: KeysFull, record.KeyLeaseFull: LeaseFull,
}

func (b *KeyWrite) kind() Kind      { return KindKeyWrite }
func (b *KeyWrite) subject() string { return fmt.Sprintf("key %q", b.Write.Key) }
func (b *KeyWrite) check() error    { return b.Write.Check() }

func (b *KeyWrite) apply(m *Machine) Result {
	w := m.keys.Write(m.index, &b.Write)
	r := Result{Outcome: outcomes[w.Outcome]}
	switch {
	case r.Outcome == Conflict:
		r.Count = int(w.Version)
	case r.Outcome == Done && w.Version == 0: // there was nothing to delete
		r.Outcome = NotFound
	}
	return r
}

func (b *KeyLeaseGrant) kind() Kind      { return KindKeyLeaseGrant }
func (b *KeyLeaseGrant) subject() string { return "a lease" }
func (b *KeyLeaseGrant) check() error    { return record.CheckKeyLease(b.TTLMs) }

func (b *KeyLeaseGrant) apply(m *Machine) Result {
	if !m.keys.Grant(m.index, b.TTLMs) {
		return Result{Outcome: LeaseFull}
	}
	m.emit(record.Event{Kind: record.KeyLeaseEvent, Lease: &record.KeyLease{ID: m.index, TTLMs: b.TTLMs}})
	return Result{}
}

func (b *KeyLeaseEnd) kind() Kind      { return KindKeyLeaseEnd }
func (b *KeyLeaseEnd) subject() string { return fmt.Sprintf("lease %d", b.ID) }
func (b *KeyLeaseEnd) check() error    { return nil }

func (b *KeyLeaseEnd) apply(m *Machine) Result {
	l, known := m.keys.Lease(b.ID)
	switch {
	case !known:
		return Result{Outcome: LeaseGone}
	case !m.keys.End(m.index, b.ID, b.Reign):
		return Result{Outcome: Stale}
	}
	l.Ended = true
	m.emit(record.Event{Kind: record.KeyLeaseEvent, Lease: &l})
	return Result{}
}

func (b *KeyReign) kind() Kind      { return KindKeyReign }
func (b *KeyReign) subject() string { return "the beginning of a leadership" }
func (b *KeyReign) check() error    { return nil }

func (b *KeyReign) apply(m *Machine) Result {
	m.keys.Begin(m.index)
	return Result{}
}

func (b *Mark) kind() Kind            { return KindMark }
func (b *Mark) subject() string       { return "a fresh read" }
func (b *Mark) check() error          { return nil }
func (b *Mark) apply(*Machine) Result { return Result{} }
