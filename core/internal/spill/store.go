package spill

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eagleray/eagleray/core/internal/planted"
)

// leaveOut is how long a directory is not used after a failure. A write that takes longer than
// stuckAfter counts as hanging. closeLimit is how long a failing Open waits for Close.
const (
	leaveOut   = time.Second
	stuckAfter = 3 * time.Second
	closeLimit = time.Second
)

// Open makes the directories. A directory that cannot be made is an error, because the user
// should know before work begins.
func Open(o Options) (*Store, error) {
	if len(o.Roots) == 0 {
		return nil, errors.New("no directory to spill objects to")
	}
	s := &Store{fs: o.FS, full: o.Full, cache: o.Cache}
	if s.fs == nil {
		s.fs = Disk{}
	}
	for _, root := range o.Roots {
		Sweep(root)
		d, err := makeDir(root, o.Name, len(s.dirs))
		if err != nil {
			s.Close(closeLimit)
			return nil, fmt.Errorf("objects cannot be spilled to %s: %w", root, err)
		}
		s.dirs = append(s.dirs, d)
	}
	return s, nil
}

// Dirs returns the directories that hold the files.
func (s *Store) Dirs() []string {
	out := make([]string, len(s.dirs))
	for i, d := range s.dirs {
		out[i] = d.path
	}
	return out
}

func (s *Store) name(d *dir, kind string) string {
	return filepath.Join(d.path, kind+"-"+strconv.FormatUint(s.seq.Add(1), 10))
}

// begin chooses the directory whose turn it is; end must follow.
func (s *Store) begin(needed bool) (*use, error) {
	var why error
	for range s.dirs {
		u, err := s.turn(&why)
		if err != nil {
			return nil, err
		}
		if s.full <= 0 || needed {
			return u, nil
		}
		used, total, err := s.fs.Usage(u.d.path)
		if u.d.recreate(err) {
			used, total, err = s.fs.Usage(u.d.path)
		}
		if err == nil && float64(used) > s.full*float64(total) {
			err = fmt.Errorf("%w: %.1f%% of what holds %s are used, the limit is %.1f%%", ErrFull, 100*float64(used)/float64(total), u.d.path, 100*s.full)
		}
		if err == nil {
			return u, nil
		}
		why = joined(why, err)
		u.end(err)
	}
	return nil, why
}

// turn finds a directory that works, and begins a use of it.
func (s *Store) turn(why *error) (*use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, os.ErrClosed
	}
	now := time.Now()
	for range s.dirs {
		d := s.dirs[s.next%len(s.dirs)]
		s.next++
		if d.bad != nil && now.Before(d.until) {
			*why = joined(*why, d.bad)
			continue
		}
		if since := d.hanging(now); since > 0 {
			*why = joined(*why, fmt.Errorf("%w: a write to %s has hung for %v", ErrStuck, d.path, since.Round(time.Second)))
			continue
		}
		s.uses++
		d.begun[s.uses] = now
		d.uses.Add(1)
		return &use{s, d, s.uses}, nil
	}
	return nil, *why
}

// end ends a use. A directory that failed is not used for a while.
func (u *use) end(err error) {
	defer u.d.uses.Done()
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	delete(u.d.begun, u.number)
	if u.d.bad = err; err != nil {
		u.d.until = time.Now().Add(leaveOut)
	}
}

// hanging returns how long the oldest write has taken so far, if that is too long.
func (d *dir) hanging(now time.Time) (longest time.Duration) {
	for _, t := range d.begun {
		if age := now.Sub(t); age > stuckAfter {
			longest = max(longest, age)
		}
	}
	return longest
}

// NewFile makes a file of size bytes that stands for memory. With needed the file may use the
// room that Options.Full leaves free.
func (s *Store) NewFile(size uint64, needed bool) (path string, err error) {
	var failed error
	for range s.dirs {
		u, err := s.begin(needed)
		if err != nil {
			return "", joined(failed, err)
		}
		path, err := s.makeFile(u.d, size)
		u.end(err)
		if err == nil {
			return path, nil
		}
		failed = joined(failed, err)
	}
	return "", failed
}

func (s *Store) makeFile(d *dir, size uint64) (string, error) {
	path := s.name(d, "memory")
	f, err := s.create(d, path)
	if err == nil {
		if size > math.MaxInt64 {
			err = ErrFull
		} else {
			err = f.Allocate(int64(size))
		}
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			s.Remove(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("a file of %d bytes in %s: %w", size, d.path, err)
	}
	return path, nil
}

func (s *Store) create(d *dir, path string) (File, error) {
	f, err := s.fs.Create(path)
	if d.recreate(err) {
		f, err = s.fs.Create(path)
	}
	return f, err
}

// Fill writes a record's object into a file from NewFile.
func (s *Store) Fill(path string, r *Record) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = r.Read(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Remove deletes a file, without waiting for the disk.
func (s *Store) Remove(path string) {
	if planted.Strikes(planted.LeftFile) {
		return
	}
	s.later(func() { _ = s.fs.Remove(path) }) // a file that is left goes with the directory
}

func (s *Store) later(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // Close removes everything
	}
	s.gone.Add(1)
	go func() {
		defer s.gone.Done()
		f()
		s.retry()
	}()
}

// retry lets full directories be used again, because something was removed from a directory.
func (s *Store) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dirs {
		if IsFull(d.bad) {
			d.bad = nil
		}
	}
}

// refuse lets nothing be written any more.
func (s *Store) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Close removes the directories. It waits for writes that are going on, but no longer than
// limit for a disk that hangs. A write that takes longer than half of limit loses its directory.
func (s *Store) Close(limit time.Duration) {
	s.refuse()
	within(limit, func() {
		s.gone.Wait()
		for _, d := range s.dirs {
			within(limit/2, d.uses.Wait)
			d.remove()
		}
	})
}

// within runs f and returns when f has ended, or after the limit; then f goes on.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
