package raftlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/raftstate"
)

// Options configure a Dir.
type Options struct {
	// Log gets what was found when the directory was opened: a tail that was cut off, a snapshot that was put aside.
	// Nil: slog's default.
	Log *slog.Logger

	// Disk has the files of the log. Nil: this machine's.
	Disk Disk
	// SegmentSize is the size of a file of the log, in bytes. 0: 2 MiB.
	SegmentSize int
}

// Dir is the state directory of one head, which this process has to itself.
type Dir struct {
	path      string
	lock      *os.File
	id        string
	fresh     bool
	guard     *Guard
	log       *Log
	stable    *Stable
	snapshots *Snapshots
}

// The names in a state directory, beside stableName.
const (
	lockName     = "lock"
	logName      = "log"
	snapshotName = "snapshots"
)

// headID is the key of the head's id among the values of Stable.
const headID = "HeadID"

// ErrInUse: another head has the state directory.
var ErrInUse = errors.New("the state directory is in use")

// Open opens a state directory, and makes it when there is none. It refuses a directory that another process has open
// (ErrInUse), and one that is not as it was written (ErrDamaged).
func Open(path string, o Options) (*Dir, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Disk == nil {
		o.Disk = realDisk{}
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = segmentSize
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open state directory: %w", err)
	}
	d := &Dir{path: path, guard: newGuard(path)}
	if err := d.open(o); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("open state directory %s: %w", path, err)
	}
	return d, nil
}

func (d *Dir) open(o Options) error {
	for _, dir := range []string{d.path, filepath.Join(d.path, logName), filepath.Join(d.path, snapshotName)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := d.takeLock(); err != nil {
		return err
	}
	if err := d.sweep(); err != nil {
		return err
	}
	var known bool
	var err error
	if d.stable, known, err = openStable(d.path, d.guard); err != nil {
		return err
	}
	var bad []badSnapshot
	if d.snapshots, bad, err = openSnapshots(filepath.Join(d.path, snapshotName)); err != nil {
		return err
	}
	var cut string
	if d.log, cut, err = openLog(filepath.Join(d.path, logName), o, d.guard); err != nil {
		return err
	}
	d.log.keeps = d.snapshots.oldest
	if cut != "" {
		o.Log.Warn("the tail of the head's log was cut off", "tail", cut)
	}
	if err := d.fit(bad, o.Log); err != nil {
		return err
	}
	d.fresh = !known
	if !known && (d.log.last() != 0 || len(d.snapshots.list) > 0) {
		return damaged(filepath.Join(d.path, stableName), 0, "the file is missing, and there are entries up to %d and %d snapshots", d.log.last(), len(d.snapshots.list))
	}
	return d.name()
}

// name reads the head's id, which is made when the directory is opened for the first time.
func (d *Dir) name() error {
	if b, err := d.stable.Get([]byte(headID)); err == nil {
		d.id = string(b)
		return nil
	}
	d.id = ids.NewNode().String()
	return d.stable.Set([]byte(headID), []byte(d.id))
}

// takeLock makes sure that no other process has the directory.
func (d *Dir) takeLock() error {
	f, err := os.OpenFile(filepath.Join(d.path, lockName), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	d.lock = f
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		who, _ := io.ReadAll(io.LimitReader(f, 32)) // may be empty: it is for the text only
		return fmt.Errorf("%w by the head with process id %s. Stop that head, or use another directory", ErrInUse, strings.TrimSpace(string(who)))
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// sweep removes files that a dead process had begun to write.
func (d *Dir) sweep() error {
	for _, dir := range []string{d.path, filepath.Join(d.path, logName), filepath.Join(d.path, snapshotName)} {
		left, err := filepath.Glob(filepath.Join(dir, "*"+tempSuffix))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit checks that log and snapshots give the whole state together, and puts damaged snapshots aside that are not needed.
func (d *Dir) fit(bad []badSnapshot, log *slog.Logger) error {
	s, first, last := d.snapshots, d.log.first, d.log.last()
	good := s.list[:0]
	for _, m := range s.list { // raft may fall back to an older snapshot only if the log has all that came after it
		if len(good) == 0 || last >= good[0].Index && first <= m.Index+1 {
			good = append(good, m)
		}
	}
	s.list = good
	from := uint64(0)
	if len(good) > 0 {
		from = good[0].Index
	}
	for _, b := range bad {
		newer := b.index == 0 || b.index > from
		if newer && (first > from+1 || last < b.index || last == 0 || b.index == 0) {
			return fmt.Errorf("%w, and the log with entries %d to %d does not replace it", b.err, first, last)
		}
		log.Warn("a snapshot of the head's state was damaged; the log has all that it had", "error", b.err)
		if err := s.aside(b.id); err != nil {
			return err
		}
	}
	if last != 0 && last < from { // the process ended between a snapshot of another head and the end of the log before it
		return d.log.DeleteRange(first, last)
	}
	if last != 0 && first > from+1 {
		return damaged(d.log.dir, 0, "the log begins with entry %d, and the newest snapshot is that of entry %d", first, from)
	}
	return nil
}

// ID returns the head's id, which is the same each time the directory is opened.
func (d *Dir) ID() string { return d.id }

// Fresh reports whether no head has led with this directory before: a cluster begins.
func (d *Dir) Fresh() bool { return d.fresh }

// Stores returns what raftstate.Options.Stores takes. They are usable until Close.
func (d *Dir) Stores() raftstate.Stores {
	return raftstate.Stores{Log: d.log, Stable: d.stable, Snapshots: d.snapshots, Guard: d.guard}
}

// Stalled is Guard.Stalled.
func (d *Dir) Stalled() bool { return d.guard.Stalled() }

// Close gives the directory back. The member must be closed before.
func (d *Dir) Close() error {
	var err error
	if d.log != nil {
		err = d.log.close()
	}
	if d.lock != nil {
		err = joined(err, d.lock.Close())
	}
	return err
}
