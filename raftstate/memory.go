package raftstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// Stores are where raft keeps its things. All three or none.
type Stores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Guard     Guard // nil: the stores do not fail
}

// HasState reports whether a member has worked with the stores already.
func HasState(s Stores) (bool, error) { return raft.HasExistingState(s.Log, s.Stable, s.Snapshots) }

// Guard watches over stores on a disk. The member stops when it has failed.
type Guard interface {
	// Failed is closed when a write has failed. Nothing is stored any more.
	Failed() <-chan struct{}
	// Err says why, for whoever runs the member.
	Err() error
}

// NewMemoryStores returns stores that live as long as the process.
func NewMemoryStores() Stores {
	return Stores{Log: &memoryLog{first: 1}, Stable: &memoryStable{values: map[string][]byte{}, numbers: map[string]uint64{}}, Snapshots: &memorySnapshots{}}
}

// memoryLog keeps entries first, first+1, … in a slice.
type memoryLog struct {
	mu      sync.RWMutex
	first   uint64
	entries []*raft.Log
}

func (m *memoryLog) FirstIndex() (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first, nil
}

func (m *memoryLog) LastIndex() (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first + uint64(len(m.entries)) - 1, nil
}

func (m *memoryLog) GetLog(index uint64, out *raft.Log) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if index < m.first || index-m.first >= uint64(len(m.entries)) {
		return raft.ErrLogNotFound
	}
	*out = *m.entries[index-m.first]
	return nil
}

func (m *memoryLog) StoreLog(l *raft.Log) error { return m.StoreLogs([]*raft.Log{l}) }

func (m *memoryLog) StoreLogs(logs []*raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range logs {
		if len(m.entries) == 0 {
			m.first = l.Index
		}
		if next := m.first + uint64(len(m.entries)); l.Index != next {
			return fmt.Errorf("store log entry %d: the next is %d", l.Index, next)
		}
		m.entries = append(m.entries, l)
	}
	return nil
}

// DeleteRange implements raft.LogStore; raft deletes only from the ends.
func (m *memoryLog) DeleteRange(low, high uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) == 0 {
		return nil
	}
	end := m.first + uint64(len(m.entries)) // one past the last
	low, high = max(low, m.first), min(high+1, end)
	switch {
	case low >= high:
	case low == m.first:
		// A fresh slice, so that the deleted entries are freed.
		m.entries = append([]*raft.Log(nil), m.entries[high-m.first:]...)
		m.first = high
	case high == end:
		clear(m.entries[low-m.first:])
		m.entries = m.entries[:low-m.first]
	default:
		return fmt.Errorf("delete log entries %d to %d: in the middle of %d to %d", low, high-1, m.first, end-1)
	}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore: no gaps, so after a snapshot
// from the leader raft empties the log before it goes on.
func (m *memoryLog) IsMonotonic() bool { return true }

var errNotFound = errors.New("not found") // raft compares the text

type memoryStable struct {
	mu      sync.Mutex
	values  map[string][]byte
	numbers map[string]uint64
}

func (m *memoryStable) Set(key, val []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[string(key)] = bytes.Clone(val)
	return nil
}

func (m *memoryStable) Get(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[string(key)]; ok {
		return v, nil
	}
	return nil, errNotFound
}

func (m *memoryStable) SetUint64(key []byte, val uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers[string(key)] = val
	return nil
}

func (m *memoryStable) GetUint64(key []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.numbers[string(key)], nil
}

// memorySnapshots keeps the latest complete snapshot.
type memorySnapshots struct {
	mu     sync.Mutex
	latest *memorySnapshot
}

type memorySnapshot struct {
	store *memorySnapshots
	meta  raft.SnapshotMeta
	data  bytes.Buffer
}

func (m *memorySnapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &memorySnapshot{store: m, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term,
		Configuration: c, ConfigurationIndex: cIndex,
	}}, nil
}

func (m *memorySnapshots) List() ([]*raft.SnapshotMeta, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return nil, nil
	}
	meta := m.latest.meta
	return []*raft.SnapshotMeta{&meta}, nil
}

func (m *memorySnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil || m.latest.meta.ID != id {
		return nil, nil, fmt.Errorf("snapshot %s: %w", id, errNotFound)
	}
	meta := m.latest.meta
	return &meta, io.NopCloser(bytes.NewReader(m.latest.data.Bytes())), nil
}

func (s *memorySnapshot) Write(p []byte) (int, error) { return s.data.Write(p) }
func (s *memorySnapshot) ID() string                  { return s.meta.ID }
func (s *memorySnapshot) Cancel() error               { return nil }

// Close makes the snapshot the latest: a half-written one is never seen.
func (s *memorySnapshot) Close() error {
	s.meta.Size = int64(s.data.Len())
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.latest = s
	return nil
}
