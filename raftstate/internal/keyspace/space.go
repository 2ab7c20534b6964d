package keyspace

import (
	"maps"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/record"
)

// Bounds of the store.
const (
	MaxBytes     = 64 << 20 // keys, values and keyOverhead together
	MaxLeases    = 10_000
	MaxLeaseKeys = 1_000 // with one lease

	// keyOverhead is what a key costs beside its bytes: its pair, its places in maps and in snapshots.
	keyOverhead = 512
)

// Space is the store. It is not safe for concurrent use.
type Space struct {
	keys   map[string]*record.KeyPair
	leases map[uint64]*lease
	bytes  int
	reign  uint64 // index of the command that began the present leadership
	past   history
}

// lease is a lease that has not ended.
type lease struct {
	ttlMs int64
	keys  map[string]struct{} // follows from the keys; nil in a clone
}

// New returns an empty store.
func New() *Space {
	return &Space{keys: map[string]*record.KeyPair{}, leases: map[uint64]*lease{}}
}

// Write carries out the change at a log index. The store keeps the value.
func (s *Space) Write(index uint64, w *record.KeyWrite) record.KeyWritten {
	old := s.keys[w.Key]
	var have uint64
	if old != nil {
		have = old.Version
	}
	switch {
	case w.If && have != w.Version:
		return record.KeyWritten{Outcome: record.KeyConflict, Version: have}
	case w.Delete && old == nil:
		return record.KeyWritten{}
	case w.Delete:
		s.remove(index, old, 0)
		return record.KeyWritten{Version: index}
	}
	l := s.leases[w.Lease]
	if w.Lease != 0 && l == nil {
		return record.KeyWritten{Outcome: record.KeyLeaseGone}
	}
	if w.Lease != 0 && len(l.keys) >= MaxLeaseKeys && (old == nil || old.Lease != w.Lease) {
		return record.KeyWritten{Outcome: record.KeyLeaseFull}
	}
	p := &record.KeyPair{Key: w.Key, Value: value(w.Value), Version: index, Lease: w.Lease}
	if s.bytes+size(p)-size(old) > MaxBytes {
		return record.KeyWritten{Outcome: record.KeysFull}
	}
	s.detach(old)
	s.bytes -= size(old)
	s.keep(p)
	s.past.add(record.KeyChange{Version: index, Key: p.Key, Value: p.Value, Lease: p.Lease})
	return record.KeyWritten{Version: index}
}

// keep enters a pair.
func (s *Space) keep(p *record.KeyPair) {
	s.keys[p.Key] = p
	s.bytes += size(p)
	if l := s.leases[p.Lease]; l != nil {
		l.keys[p.Key] = struct{}{}
	}
}

// remove deletes a pair; lease is the one that has ended, or 0.
func (s *Space) remove(index uint64, p *record.KeyPair, lease uint64) {
	s.detach(p)
	delete(s.keys, p.Key)
	s.bytes -= size(p)
	s.past.add(record.KeyChange{Version: index, Key: p.Key, Deleted: true, Lease: lease})
}

// detach takes a pair out of its lease, if it has one.
func (s *Space) detach(p *record.KeyPair) {
	if p == nil {
		return
	}
	if l := s.leases[p.Lease]; l != nil {
		delete(l.keys, p.Key)
	}
}

// value makes the empty value one thing, however it was decoded.
func value(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return b
}

// size is what a pair costs; 0 for nil.
func size(p *record.KeyPair) int {
	if p == nil {
		return 0
	}
	return len(p.Key) + len(p.Value) + keyOverhead
}

// Grant makes a lease, whose name is the log index. It reports false when there are too many.
func (s *Space) Grant(index uint64, ttlMs int64) bool {
	if len(s.leases) >= MaxLeases {
		return false
	}
	s.leases[index] = &lease{ttlMs: ttlMs, keys: map[string]struct{}{}}
	return true
}

// End ends a lease, and deletes its keys in order. Reign is the leadership that has counted its time; 0: the holder has ended it.
// It reports false, and changes nothing, when there is no such lease, or another leadership has begun.
func (s *Space) End(index, id, reign uint64) bool {
	l := s.leases[id]
	if l == nil || reign != 0 && reign != s.reign {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		s.remove(index, s.keys[key], id)
	}
	delete(s.leases, id)
	return true
}

// Begin begins a leadership, whose name is the log index.
func (s *Space) Begin(index uint64) { s.reign = index }

// Reign returns the name of the present leadership, 0 before the first one.
func (s *Space) Reign() uint64 { return s.reign }

// Seq returns the number of the last change.
func (s *Space) Seq() uint64 { return s.past.last }

// Get returns a pair.
func (s *Space) Get(key string) (p record.KeyPair, found bool) {
	if at := s.keys[key]; at != nil {
		return *at, true
	}
	return p, false
}

// List returns the pairs whose keys begin with the prefix, in order. It looks at all keys.
func (s *Space) List(prefix string) record.KeyList {
	r := record.KeyList{Seq: s.past.last}
	bytes := 0
	for key, p := range s.keys { // the order does not show
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if bytes += len(key) + len(p.Value); bytes > record.MaxListBytes || len(r.Pairs) >= record.MaxListKeys {
			return record.KeyList{Seq: s.past.last, Large: true}
		}
		r.Pairs = append(r.Pairs, *p)
	}
	slices.SortFunc(r.Pairs, func(a, b record.KeyPair) int { return strings.Compare(a.Key, b.Key) })
	return r
}

// Leases returns the leases in the order in which they were granted.
func (s *Space) Leases() (list []record.KeyLease) {
	for _, id := range slices.Sorted(maps.Keys(s.leases)) {
		list = append(list, record.KeyLease{ID: id, TTLMs: s.leases[id].ttlMs})
	}
	return list
}

// Lease returns a lease, and whether it is there.
func (s *Space) Lease(id uint64) (l record.KeyLease, found bool) {
	if at := s.leases[id]; at != nil {
		return record.KeyLease{ID: id, TTLMs: at.ttlMs}, true
	}
	return l, false
}

// Clone returns a copy for a snapshot, which is only read.
func (s *Space) Clone() *Space {
	c := &Space{keys: maps.Clone(s.keys), leases: make(map[uint64]*lease, len(s.leases)), bytes: s.bytes, reign: s.reign, past: s.past.clone()}
	for id, l := range s.leases {
		c.leases[id] = &lease{ttlMs: l.ttlMs}
	}
	return c
}
