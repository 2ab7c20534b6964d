package sessionlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	fileName      = "log"
	lockWait      = time.Second // for a process that is just ending
	keptSnapshots = 2
)

// The tables of the file.
var (
	logTable    = []byte("log")    // index, big-endian → entry
	valuesTable = []byte("values") // Raft's own
)

// errNotFound is the error that package raft expects for a value that is not there: it compares the text.
var errNotFound = errors.New("not found")

// ErrDamaged is the error of an entry that cannot be what was written.
var ErrDamaged = errors.New("damaged entry")

// Store is the log and Raft's own values: a raft.LogStore and a raft.StableStore.
type Store struct {
	path string
	db   *bbolt.DB
}

var (
	_ raft.LogStore    = (*Store)(nil)
	_ raft.StableStore = (*Store)(nil)
)

// Open opens a folder, or makes it. The caller closes the store when Raft has stopped.
func Open(dir string) (*Store, raft.SnapshotStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the log of the cluster's state: %w", err)
	}
	s := &Store{path: filepath.Join(dir, fileName)}
	db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: lockWait, NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, berrors.ErrTimeout) {
		err = errors.New("another process has it open")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", s.path, err)
	}
	s.db = db
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err1 := tx.CreateBucketIfNotExists(logTable)
		_, err2 := tx.CreateBucketIfNotExists(valuesTable)
		return errors.Join(err1, err2)
	})
	var snapshots raft.SnapshotStore
	if err == nil {
		snapshots, err = raft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, hclog.New(&hclog.LoggerOptions{Output: io.Discard}))
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", s.path, err), db.Close())
	}
	return s, snapshots, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

func (s *Store) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.path, what, err)
}

func key(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

// FirstIndex returns the first index of the log, 0 if it is empty.
func (s *Store) FirstIndex() (uint64, error) { return s.end((*bbolt.Cursor).First) }

// LastIndex returns the last index of the log, 0 if it is empty.
func (s *Store) LastIndex() (uint64, error) { return s.end((*bbolt.Cursor).Last) }

func (s *Store) end(which func(*bbolt.Cursor) (k, v []byte)) (index uint64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		k, _ := which(tx.Bucket(logTable).Cursor())
		if k == nil {
			return nil
		}
		if len(k) != 8 {
			return fmt.Errorf("%w: a key of %d bytes", ErrDamaged, len(k))
		}
		index = binary.BigEndian.Uint64(k)
		return nil
	})
	return index, s.fail("look for an end of the log", err)
}

// GetLog reads an entry. raft.ErrLogNotFound if there is none.
func (s *Store) GetLog(index uint64, to *raft.Log) error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(logTable).Get(key(index))
		if b == nil {
			return raft.ErrLogNotFound
		}
		return decode(b, index, to)
	})
	if errors.Is(err, raft.ErrLogNotFound) {
		return raft.ErrLogNotFound // package raft compares it
	}
	return s.fail(fmt.Sprintf("read entry %d", index), err)
}

// StoreLog adds an entry.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs adds entries, all of them or none.
func (s *Store) StoreLogs(list []*raft.Log) error {
	return s.fail("write entries", s.db.Update(func(tx *bbolt.Tx) error {
		table := tx.Bucket(logTable)
		table.FillPercent = 0.9 // entries are added at the end
		for _, l := range list {
			if err := table.Put(key(l.Index), encode(l)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// DeleteRange removes the entries from low to high, both included.
func (s *Store) DeleteRange(low, high uint64) error {
	return s.fail("remove entries", s.db.Update(func(tx *bbolt.Tx) error {
		c := tx.Bucket(logTable).Cursor()
		for k, _ := c.Seek(key(low)); k != nil && binary.BigEndian.Uint64(k) <= high; k, _ = c.Seek(key(low)) {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Set stores a value.
func (s *Store) Set(name, value []byte) error {
	return s.fail("write a value", s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(valuesTable).Put(name, value) }))
}

// Get returns a value, or an error with the text "not found".
func (s *Store) Get(name []byte) (value []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(valuesTable).Get(name)
		if b == nil {
			return errNotFound
		}
		value = append([]byte{}, b...)
		return nil
	})
	if errors.Is(err, errNotFound) {
		return nil, errNotFound
	}
	return value, s.fail("read a value", err)
}

// SetUint64 stores a number.
func (s *Store) SetUint64(name []byte, n uint64) error { return s.Set(name, key(n)) }

// GetUint64 returns a number, or an error with the text "not found".
func (s *Store) GetUint64(name []byte) (uint64, error) {
	b, err := s.Get(name)
	if err == nil && len(b) != 8 {
		err = s.fail(fmt.Sprintf("read %q", name), fmt.Errorf("%w: a number of %d bytes", ErrDamaged, len(b)))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}
