package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/internal/archive"
	"github.com/eagleray/eagleray/core/internal/patient"
)

// patience is how long a node tries to reach the head about a package.
const patience = 60 * time.Second

// pauses between attempts to reach the head.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

// fetch gets a package and unpacks it in a new folder. A connection that breaks is made again.
func (s *Store) fetch(ctx context.Context, h Hash) (dir string, err error) {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(s.o.Dir, "*"+coming)
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := s.persist(ctx, func() error { return s.get(ctx, h, f) }); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(s.o.Dir, "new-"); err != nil {
		return "", err
	}
	return dir, archive.Unpack(f, dir)
}

// persist tries something with the head until it works, the head refuses it, or patience is over.
func (s *Store) persist(ctx context.Context, try func() error) error {
	if s.o.Head == nil {
		return errNoHead
	}
	until := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try()
		var refused *refusedError
		var disk *fs.PathError
		switch {
		case err == nil || errors.As(err, &refused) || errors.As(err, &disk) || errors.Is(err, ErrMissing):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(until):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// get receives a package from the head.
func (s *Store) get(ctx context.Context, h Hash, f *os.File) error {
	if err := rewind(f); err != nil {
		return err
	}
	c, err := s.o.Head(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return ask(ctx, c, &request{what: askGet, hash: h}, f)
}

// ask has a head send a package.
func ask(ctx context.Context, c net.Conn, q *request, f *os.File) error {
	defer closedWith(ctx, c)()
	c = patient.New(c, stall)
	if err := q.write(c); err != nil {
		return err
	}
	what, size, err := readAnswer(c)
	if err != nil {
		return err
	}
	if what != sayComes {
		return fmt.Errorf("the head answers %d to the question for package %s", what, q.hash)
	}
	return receiveFile(c, f, size, q.hash)
}

// rewind empties a file.
func rewind(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}
