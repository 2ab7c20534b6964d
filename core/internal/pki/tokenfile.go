package pki

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadToken reads the token of a file. The file must belong to this user or to root, and
// no other user may have any right to it.
func ReadToken(path string) (Token, error) {
	// Without O_NONBLOCK a pipe that nobody writes to would hold the program here.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Token{}, fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Token{}, fmt.Errorf("token file %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Token{}, fmt.Errorf("%w: %s is not a regular file", ErrBadToken, path)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return Token{}, fmt.Errorf("%w: %s belongs to uid %d, who could change it; it must belong to you (uid %d) or to root",
			ErrBadToken, path, st.Uid, os.Geteuid())
	}
	if mode := st.Mode & 0o777; mode&0o077 != 0 {
		return Token{}, fmt.Errorf("%w: %s has mode %#o, so that other users have rights to it; take these away with: chmod 600 %s",
			ErrBadToken, path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenText+1))
	if err != nil {
		return Token{}, fmt.Errorf("token file %s: %w", path, err)
	}
	return ParseToken(string(text), path)
}

// WriteToken writes the token to a new file of mode 0600, complete or not at all. A file
// that is there already stays, and the error is one of fs.ErrExist.
func WriteToken(path string, t Token) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	defer func() {
		if e := os.Remove(f.Name()); err == nil && e != nil {
			err = fmt.Errorf("write the token: %w", e)
		}
	}()
	_, err = f.WriteString(t.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the token to %s: %w", path, err)
	}
	if err := os.Link(f.Name(), path); err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	return nil
}
