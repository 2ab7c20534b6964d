package raftlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// Stable keeps raft's term and vote, and the head's id, in a file, which is replaced as a whole. It is a raft.StableStore.
//
//	0  magic      4 bytes
//	4  checksum   4 bytes, CRC-32C of what is behind
//	8  values     msgpack
type Stable struct {
	path  string
	guard *Guard

	mu     sync.Mutex
	values stableValues
}

type stableValues struct {
	Bytes   map[string][]byte `msgpack:"bytes"`
	Numbers map[string]uint64 `msgpack:"numbers"`
}

const (
	stableName  = "term"
	stableMagic = 0x454c5431
	maxStable   = 64 << 10
	currentTerm = "CurrentTerm" // raft's key
)

var errNotFound = errors.New("not found") // raft compares the text

// openStable reads the values. found is false when there is no file.
func openStable(dir string, g *Guard) (s *Stable, found bool, err error) {
	s = &Stable{path: filepath.Join(dir, stableName), guard: g, values: stableValues{map[string][]byte{}, map[string]uint64{}}}
	b, err := readFile(s.path, maxStable)
	if errors.Is(err, os.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != stableMagic || binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return nil, false, damaged(s.path, 0, "the checksum of raft's term and vote is wrong")
	}
	if err := msgpack.Unmarshal(b[8:], &s.values); err != nil || s.values.Bytes == nil || s.values.Numbers == nil {
		return nil, false, damaged(s.path, 8, "raft's term and vote cannot be read: %v", err)
	}
	return s, true, nil
}

// Set implements raft.StableStore.
func (s *Stable) Set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.values.Bytes[string(key)]; known && slices.Equal(old, value) {
		return nil
	}
	s.values.Bytes[string(key)] = slices.Clone(value)
	return s.save()
}

// Get implements raft.StableStore.
func (s *Stable) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values.Bytes[string(key)]; ok {
		return slices.Clone(v), nil
	}
	return nil, errNotFound
}

// SetUint64 implements raft.StableStore. raft panics when the term cannot be saved. That is not needed: a term alone
// promises nothing, a vote and an entry in it do, and both fail. So the guard alone hears of it.
func (s *Stable) SetUint64(key []byte, value uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.values.Numbers[string(key)]; known && old == value {
		return nil
	}
	s.values.Numbers[string(key)] = value
	if err := s.save(); err != nil && string(key) != currentTerm {
		return err
	}
	return nil
}

// GetUint64 implements raft.StableStore.
func (s *Stable) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values.Numbers[string(key)], nil
}

// save writes the file; the lock is held.
func (s *Stable) save() error {
	if err := s.guard.Err(); err != nil {
		return err
	}
	body, err := msgpack.Marshal(&s.values)
	if err != nil {
		return err
	}
	s.guard.term.start()
	defer s.guard.term.stop()
	b := binary.LittleEndian.AppendUint32(nil, stableMagic)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	if err := replaceFile(s.path, append(b, body...)); err != nil {
		return s.guard.stop(err)
	}
	return nil
}
