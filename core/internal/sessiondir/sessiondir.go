// Package sessiondir makes, locks and removes the directories of sessions. Each session of a user has a directory below the user's
// base directory. The daemon of the session holds the lock of the directory while it lives; a directory whose lock nobody
// holds is what a killed daemon has left, and the next one removes it (SweepStale). The package starts no goroutine.
package sessiondir

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/userdir"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// New returns the name of a fresh session below base, which is made if there is none and must be the user's own (package userdir).
func New(base string) (string, error) {
	if err := userdir.Make(base); err != nil {
		return "", err
	}
	var b [5]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return filepath.Join(base, "s-"+hex.EncodeToString(b[:])), nil
}

// LogName is the file of what the daemon writes, in the session's directory.
const LogName = "logs/daemon.log"

// LogTo sends what this process writes to a log of the session from now on. Name is a path in the session's directory.
func LogTo(dir, name string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("session directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("session log: %w", err)
	}
	defer f.Close()
	for _, stream := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup3(int(f.Fd()), stream, 0); err != nil {
			return fmt.Errorf("session log: %w", err)
		}
	}
	return nil
}

// lockName is the file whose lock says that a session's daemon lives.
const lockName = "lock"

// Lock marks the session as alive until the file is closed or the process ends.
// The file appears locked: a sweeper never finds one that only looks dead.
func Lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	if old, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
		defer old.Close()
		if err := unix.Flock(int(old.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return nil, fmt.Errorf("session %s is in use: %w", dir, err)
		}
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("session lock: %w", err)
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("session lock: %w", err)
	}
	return f, nil
}

// SweepStale removes the sessions below base whose daemon was killed before it
// could.
func SweepStale(base string) {
	dirs, err := filepath.Glob(filepath.Join(base, "s-*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() {
			continue
		}
		// A session that is being made, or kept for its logs, has no lock file.
		f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			workers.EndSession(filepath.Base(dir))
			objects.SweepSpilled(dir)
			os.RemoveAll(dir)
		}
		f.Close()
	}
}
