package objects

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Options describe a Store.
type Options struct {
	Bytes  uint64 // the size of the arena
	Dir    string // the session's directory
	Spill  SpillOptions
	Lock   sync.Locker // guards the Store; see doc.go
	Notify Notify
	Log    *slog.Logger
}

// Store is a Table with its arena, its disk and its timer.
type Store struct {
	*Table
	o         Options
	fd        int // the arena's memfd
	reclaimer *reclaimer
	wake      *waker
	spill     *spiller     // nil: nothing is spilled to disk
	checks    atomic.Int32 // questions that look at disks now
	stopped   bool         // Stop was called; Lock guards it
	stop      chan struct{}
}

// Open makes the arena and the directories to which objects are spilled.
func Open(o Options) (*Store, error) {
	fd, err := store.CreateMemory("eagleray-arena", o.Bytes)
	if err != nil {
		return nil, fmt.Errorf("object store of %d bytes: %w", o.Bytes, err)
	}
	s := &Store{o: o, fd: fd, stop: make(chan struct{})}
	s.reclaimer = newReclaimer(store.NewArena(o.Bytes), fd, o.Bytes, o.Log)
	s.Table = newTable(s.reclaimer, o.Bytes)
	s.notify = o.Notify
	s.wake = newWaker(s)
	if o.Spill.Off {
		s.keepInMemory(o.Spill.Grace)
		return s, nil
	}
	if err := s.openDisk(o.Spill.withDefaults()); err != nil {
		s.wake.stop()
		unix.Close(fd)
		return nil, err
	}
	return s, nil
}

// openDisk opens the directories and wires the table to them.
func (s *Store) openDisk(o SpillOptions) error {
	roots := o.Roots
	if len(roots) == 0 {
		roots = []string{s.o.Dir}
	}
	disk, err := spill.Open(spill.Options{Roots: roots, Name: filepath.Base(s.o.Dir), Full: o.Full, Cache: o.cacheBytes(), FS: o.FS})
	if err != nil {
		return &SpillError{err}
	}
	arena, err := store.Map(s.fd, s.o.Bytes)
	if err != nil {
		disk.Close(closeLimit)
		return err
	}
	// What a daemon that is killed has spilled is found by this file.
	if err := os.WriteFile(filepath.Join(s.o.Dir, spilledName), []byte(strings.Join(disk.Dirs(), "\n")+"\n"), 0o600); err != nil {
		_ = arena.Close() // nobody uses it yet
		disk.Close(closeLimit)
		return fmt.Errorf("session directory: %w", err)
	}
	s.spill = newSpiller(s.wake, disk, arena, o.Readers)
	s.effects = s.spill
	s.batchBytes = min(o.MinBytes, s.o.Bytes/8)
	s.writeAheadFrom = uint64(o.Threshold * float64(s.o.Bytes))
	s.grace = o.Grace
	return nil
}

// FD returns the descriptor of the arena's memory, which the Store keeps.
func (s *Store) FD() int { return s.fd }

// SendTo sends a text and a descriptor of the arena's memory through a socket.
func (s *Store) SendTo(socket int, text []byte) error {
	return unix.Sendmsg(socket, text, unix.UnixRights(s.fd), nil, 0)
}

// answer runs f under the lock, unless the store is ending.
func (s *Store) answer(f func()) {
	s.o.Lock.Lock()
	defer s.o.Lock.Unlock()
	if !s.stopped {
		f()
	}
}

// Stop says that the store ends soon: nothing that was ordered is answered from
// now on.
func (s *Store) Stop() {
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
}

// Close gives up the memory and what was spilled. It waits a moment for disks that
// hang.
func (s *Store) Close() {
	func() {
		s.o.Lock.Lock()
		defer s.o.Lock.Unlock()
		s.Stop()
	}()
	s.reclaimer.close()
	s.wake.stop()
	if s.spill != nil {
		s.spill.close()
		os.Remove(filepath.Join(s.o.Dir, spilledName))
	}
	unix.Close(s.fd)
}
