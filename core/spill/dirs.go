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

// Names below a root. A directory gets its final name when its lock is held, so
// that nobody sweeps it before.
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
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if number > 0 { // the same root may be given twice
		name += "-" + strconv.Itoa(number)
	}
	tmp := filepath.Join(root, unfinished+name)
	d := &dir{path: filepath.Join(root, prefix+name), begun: make(map[uint64]time.Time)}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(tmp, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = os.Rename(tmp, d.path)
		}
		if err == nil {
			d.lock = lock
			return d, nil
		}
		lock.Close()
	}
	os.RemoveAll(tmp)
	return nil, err
}

// remove deletes the directory.
func (d *dir) remove() {
	os.RemoveAll(d.path)
	d.lock.Close()
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
	if errors.Is(err, os.ErrNotExist) {
		return os.RemoveAll(path) // its removal was interrupted
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
