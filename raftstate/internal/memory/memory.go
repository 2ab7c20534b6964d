package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// Log is a raft.LogStore.
type Log struct {
	mu      sync.RWMutex
	first   uint64
	entries []*raft.Log // first, first+1, …
}

// NewLog returns a log without entries.
func NewLog() *Log { return &Log{first: 1} }

// FirstIndex implements raft.LogStore.
func (m *Log) FirstIndex() (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first, nil
}

// LastIndex implements raft.LogStore.
func (m *Log) LastIndex() (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first + uint64(len(m.entries)) - 1, nil
}

// GetLog implements raft.LogStore.
func (m *Log) GetLog(index uint64, out *raft.Log) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if index < m.first || index-m.first >= uint64(len(m.entries)) {
		return raft.ErrLogNotFound
	}
	*out = *m.entries[index-m.first]
	return nil
}

// StoreLog implements raft.LogStore.
func (m *Log) StoreLog(l *raft.Log) error { return m.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (m *Log) StoreLogs(logs []*raft.Log) error {
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
func (m *Log) DeleteRange(low, high uint64) error {
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
func (m *Log) IsMonotonic() bool { return true }

var errNotFound = errors.New("not found") // raft compares the text

// Stable is a raft.StableStore.
type Stable struct {
	mu      sync.Mutex
	values  map[string][]byte
	numbers map[string]uint64
}

// NewStable returns a store without values.
func NewStable() *Stable {
	return &Stable{values: map[string][]byte{}, numbers: map[string]uint64{}}
}

// Set implements raft.StableStore.
func (m *Stable) Set(key, val []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[string(key)] = bytes.Clone(val)
	return nil
}

// Get implements raft.StableStore.
func (m *Stable) Get(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[string(key)]; ok {
		return v, nil
	}
	return nil, errNotFound
}

// SetUint64 implements raft.StableStore.
func (m *Stable) SetUint64(key []byte, val uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.numbers[string(key)] = val
	return nil
}

// GetUint64 implements raft.StableStore.
func (m *Stable) GetUint64(key []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.numbers[string(key)], nil
}

// Snapshots is a raft.SnapshotStore. It keeps the latest complete snapshot; its zero value has none.
type Snapshots struct {
	mu     sync.Mutex
	latest *snapshot
}

type snapshot struct {
	store *Snapshots
	meta  raft.SnapshotMeta
	data  bytes.Buffer
}

// Create implements raft.SnapshotStore.
func (m *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &snapshot{store: m, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term,
		Configuration: c, ConfigurationIndex: cIndex,
	}}, nil
}

// List implements raft.SnapshotStore.
func (m *Snapshots) List() ([]*raft.SnapshotMeta, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return nil, nil
	}
	meta := m.latest.meta
	return []*raft.SnapshotMeta{&meta}, nil
}

// Open implements raft.SnapshotStore.
func (m *Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil || m.latest.meta.ID != id {
		return nil, nil, fmt.Errorf("snapshot %s: %w", id, errNotFound)
	}
	meta := m.latest.meta
	return &meta, io.NopCloser(bytes.NewReader(m.latest.data.Bytes())), nil
}

func (s *snapshot) Write(p []byte) (int, error) { return s.data.Write(p) }
func (s *snapshot) ID() string                  { return s.meta.ID }
func (s *snapshot) Cancel() error               { return nil }

// Close makes the snapshot the latest: a half-written one is never seen.
func (s *snapshot) Close() error {
	s.meta.Size = int64(s.data.Len())
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.latest = s
	return nil
}
