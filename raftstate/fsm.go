package raftstate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/raftstate/internal/ring"
)

// fsm adapts the machine to raft. Apply, Snapshot and Restore are called from
// one goroutine of raft; reads come from anywhere.
type fsm struct {
	mu      sync.RWMutex
	machine *Machine
	broken  error         // sticky: this member met a command, a level or a snapshot that it does not know
	level   int           // Options.level
	applied chan struct{} // closed at the next command; nil while nobody waits
	watches map[*keyWatch]struct{}

	// What the log has grown by since compact was last told.
	entries    int
	bytes      int
	maxEntries int
	maxBytes   int

	ring    *ring.Ring
	blobs   Blobs         // nil: no large values
	discard bool          // snapshots only shorten the log; nobody reads them
	compact chan struct{} // buffered by one: the log is long enough for a snapshot
	failed  chan struct{} // closed when broken is set
}

func newFSM(o Options, discard bool) *fsm {
	return &fsm{
		machine: NewMachine(), level: cmp.Or(o.level, Level), watches: map[*keyWatch]struct{}{}, ring: ring.New(o.KeptEvents), blobs: o.Blobs, discard: discard,
		maxEntries: o.CompactEntries, maxBytes: o.compactBytes,
		compact: make(chan struct{}, 1), failed: make(chan struct{}),
	}
}

// answer is what the fsm hands to the proposer on the same member.
type answer struct {
	result Result
	err    error
}

// Apply implements raft.FSM.
func (f *fsm) Apply(l *raft.Log) any {
	c, err := decode(l.Data)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.breaks(fmt.Errorf("log entry %d: %w", l.Index, err))
	}
	if f.broken != nil {
		return answer{err: f.broken}
	}
	if c.Term != 0 && c.Term != l.Term && !strikes(noFence) {
		f.machine.index = l.Index
		f.tell(c.Body, false)
		f.wake()
		return answer{err: ErrDeposed}
	}
	before, moves := f.machine.keys.Seq(), f.machine.blobs.Moves()
	result, events := f.machine.Apply(l.Index, c)
	if _, is := c.Body.(*SettingPut); is {
		if err := tooNew(f.machine, f.level); err != nil {
			f.breaks(fmt.Errorf("log entry %d: %w", l.Index, err))
			return answer{err: f.broken}
		}
	}
	f.tell(c.Body, f.machine.blobs.Moves() != moves)
	f.ring.Add(events)
	f.wake()
	if f.machine.keys.Seq() != before {
		f.wakeWatches(before)
	}
	f.grow(len(l.Data))
	return answer{result: result}
}

// breaks stops this member, which cannot go on without computing another state than the others; the lock is held.
func (f *fsm) breaks(why error) {
	if f.broken == nil {
		f.broken = why
		close(f.failed)
	}
}

// tell tells the place of large values that a command with values is applied, or that others are named than before; the lock is held.
func (f *fsm) tell(b Body, moved bool) {
	if f.blobs == nil {
		return
	}
	if t, some := b.(ticketed); some {
		f.blobs.Applied(t.tickets()...)
	} else if moved {
		f.blobs.Applied()
	}
}

// wake wakes the callers that wait for a command to be applied; the lock is held.
func (f *fsm) wake() {
	if f.applied != nil {
		close(f.applied)
		f.applied = nil
	}
}

// grow counts how much the log has grown.
func (f *fsm) grow(bytes int) {
	f.entries++
	f.bytes += bytes
	if f.entries < f.maxEntries && f.bytes < f.maxBytes {
		return
	}
	f.entries, f.bytes = 0, 0
	select {
	case f.compact <- struct{}{}:
	default:
	}
}

// Snapshot implements raft.FSM: it only copies maps of pointers.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.broken != nil {
		return nil, f.broken
	}
	if f.discard {
		return frozen{}, nil
	}
	return frozen{f.machine.clone()}, nil
}

// Restore implements raft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }()
	m, err := ReadSnapshot(r)
	if err == nil {
		err = tooNew(m, f.level)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, ErrNewerState) || errors.Is(err, ErrNewerSnapshot) {
		f.breaks(err)
	}
	if err != nil {
		return err
	}
	f.machine = m
	f.ring.Reset(m.seq)
	if f.blobs != nil {
		f.blobs.Applied()
	}
	f.wake()
	f.wakeAllWatches()
	return nil
}

// view runs a read.
func (f *fsm) view(read func(*Machine)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	read(f.machine)
}

// reached returns nil once the command at the index is applied here, else a
// channel that is closed at the next one.
func (f *fsm) reached(index uint64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.machine.index >= index {
		return nil
	}
	if f.applied == nil {
		f.applied = make(chan struct{})
	}
	return f.applied
}

// err returns why this member stopped.
func (f *fsm) err() error {
	select {
	case <-f.failed:
	default: // every command asks, and none waits for the one that is being applied
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.broken
}

// frozen is a copy of the machine on its way into a snapshot; nil when the
// snapshot is discarded.
type frozen struct{ machine *Machine }

// Persist implements raft.FSMSnapshot.
func (s frozen) Persist(sink raft.SnapshotSink) error {
	if s.machine == nil {
		return sink.Close()
	}
	if err := s.machine.WriteSnapshot(sink); err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s frozen) Release() {}
