package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrNotOwn is wrapped by the errors for a folder that is not this user's own.
var ErrNotOwn = errors.New("the folder of the sessions is not this user's own")

// Base returns the folder of this user's sessions.
func Base() string {
	for _, name := range []string{"EAGLERAY_TMPDIR", "RAY_TMPDIR"} {
		if v := os.Getenv(name); v != "" {
			return In(v)
		}
	}
	return In("/tmp") // as the Python package does, whatever TMPDIR says
}

// In is Base below another temporary folder. The path is absolute: a daemon works in the root directory.
func In(tmp string) string {
	if whole, err := filepath.Abs(tmp); err == nil {
		tmp = whole
	}
	return filepath.Join(tmp, "eagleray-"+strconv.Itoa(os.Getuid()))
}

// Make makes the folder of the sessions if there is none, and checks it.
func Make(base string) error {
	if err := os.MkdirAll(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("make the folder of the sessions: %w", err)
	}
	if _, err := os.Lstat(base); err != nil {
		return fmt.Errorf("make the folder of the sessions: %w", err)
	}
	return Check(base)
}

// Check returns an error unless the folder of the sessions is a folder of this user, no link to one, which no other user could write into.
// If others could look into it, they cannot any more. A folder that is not there has nothing to be believed, and is no error.
func Check(base string) error {
	st, err := os.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the folder of the sessions: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("%w: %s is no folder but %s: remove it, or set EAGLERAY_TMPDIR to a folder of yours", ErrNotOwn, base, kind(st))
	}
	if s, ok := st.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() {
		owner := "unknown"
		if ok {
			owner = strconv.Itoa(int(s.Uid))
		}
		return fmt.Errorf("%w: %s belongs to user %s, not to you (%d): remove it, or set EAGLERAY_TMPDIR to a folder of yours", ErrNotOwn, base, owner, os.Getuid())
	}
	if mode := st.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: other users may write into %s (mode %04o), so what lies in it may be theirs: end what you have started there, and remove it", ErrNotOwn, base, mode)
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(base, 0o700); err != nil {
			return fmt.Errorf("close the folder of the sessions to others: %w", err)
		}
	}
	return nil
}

// kind says what something is that is no folder.
func kind(st fs.FileInfo) string {
	if st.Mode()&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	return "a file"
}
