package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Names below a root. A directory gets its final name when its lock is held, so that no other
// process sweeps it before.
const (
	prefix     = "eagleray_spilled_"
	unfinished = ".eagleray_new_"
	lockFile   = "lock"
)

// unfinishedAfter is longer than making a directory takes.
const unfinishedAfter = time.Minute

func makeDir(root, name string, number int) (*dir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if number > 0 { // the same root may be given twice
		name += "-" + strconv.Itoa(number)
	}
	return newDir(root, name)
}

func newDir(root, name string) (*dir, error) {
	tmp := filepath.Join(root, unfinished+name)
	d := &dir{path: filepath.Join(root, prefix+name), root: root, name: name, begun: make(map[uint64]time.Time)}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(tmp, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = os.Rename(tmp, d.path)
		}
		if err == nil {
			d.lock, d.held = lock, holdDir(d.path)
			return d, nil
		}
		lock.Close()
	}
	os.RemoveAll(tmp)
	return nil, err
}

// holdDir locks the directory itself. Programs that clean temporary folders leave locked
// directories alone, and so does a sweep, even if the lock's file was deleted. holdDir returns
// nil where the file system has no such locks.
func holdDir(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

// unlock closes the files whose locks mark the directory as used.
func (d *dir) unlock() {
	d.lock.Close()
	if d.held != nil {
		d.held.Close()
	}
}

// recreate makes the directory again if err, the error of a write to it, says that somebody has
// deleted it. The files in it are lost; everything else goes on. recreate reports whether the
// write may be tried again.
func (d *dir) recreate(err error) bool {
	if !errors.Is(err, os.ErrNotExist) {
		return false
	}
	d.renewing.Lock()
	defer d.renewing.Unlock()
	if d.removed {
		return false // the Store is closed
	}
	if _, err := os.Lstat(d.path); err == nil {
		return true // another write has made it again
	}
	n, err := newDir(d.root, d.name)
	if err != nil {
		return false
	}
	d.unlock()
	d.lock, d.held = n.lock, n.held
	return true
}

// remove deletes the directory.
func (d *dir) remove() {
	d.renewing.Lock()
	defer d.renewing.Unlock()
	d.removed = true
	os.RemoveAll(d.path)
	d.unlock()
}

// Sweep removes what killed processes of this user left below a root.
func Sweep(root string) {
	for _, pattern := range []string{prefix + "*", unfinished + "*"} {
		found, err := filepath.Glob(filepath.Join(escape(root), pattern))
		if err != nil {
			return
		}
		for _, path := range found {
			_ = SweepDir(path)
		}
	}
}

// escape makes a path match itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// SweepDir removes one directory of a Store whose process is gone.
func SweepDir(path string) error {
	base := filepath.Base(path)
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.IsDir() || !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%s is not a directory of ours", path)
	case strings.HasPrefix(base, unfinished):
		if time.Since(st.ModTime()) < unfinishedAfter {
			return fmt.Errorf("%s is being made", path)
		}
	case !strings.HasPrefix(base, prefix):
		return fmt.Errorf("%s does not hold spilled objects", path)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) { // its removal was interrupted, or somebody deleted the lock
		lock, err = os.Open(path)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%s is in use: %w", path, err)
	}
	return os.RemoveAll(path)
}
