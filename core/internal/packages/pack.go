package packages

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/archive"
	"github.com/eagleray/eagleray/core/internal/patient"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Needs reports whether folders of an environment are to be packed here.
func (s *Store) Needs(e *wire.EnvSpec) bool {
	if s.o.Head == nil {
		return false
	}
	for i := range e.Packages {
		if e.Packages[i].Hash == "" {
			return true
		}
	}
	return false
}

// Pack packs the folders of an environment that a process of this node has named, and brings them to the head. A folder is packed once for each job. The environment is
// changed: each of its packages gets a hash.
func (s *Store) Pack(ctx context.Context, job ids.Job, e *wire.EnvSpec) error {
	for i := range e.Packages {
		p := &e.Packages[i]
		if p.Hash != "" {
			continue
		}
		h, err := s.packOnce(ctx, job, p)
		if err != nil {
			return err
		}
		p.Hash, p.Node = h.String(), s.o.Node
	}
	return nil
}

// packOnce packs a folder, or waits for whoever does that.
func (s *Store) packOnce(ctx context.Context, job ids.Job, p *wire.Package) (Hash, error) {
	k := packing{job, fmt.Sprintf("%q %v %v %q%s", p.Path, p.Module, p.NoGitignore, p.Excludes, version(p.Path))}
	m, first := s.begin(k)
	if first {
		m.hash, m.err = s.pack(ctx, job, p)
		s.packed(k, m)
	}
	select {
	case <-m.ready:
		return m.hash, m.err
	case <-ctx.Done():
		return Hash{}, context.Cause(ctx)
	}
}

// version tells a file that was replaced from what was packed before: a program that was built again. It is "" for a folder, which is packed once.
func version(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
}

// begin reports whether the caller is the first one that wants this folder.
func (s *Store) begin(k packing) (m *made, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m = s.packs[k]; m != nil {
		return m, false
	}
	s.present(k.job)
	m = &made{ready: make(chan struct{})}
	s.packs[k] = m
	return m, true
}

// packed ends a packing. One that failed is tried again by whoever comes next.
func (s *Store) packed(k packing, m *made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(m.ready)
	if m.err != nil && s.packs[k] == m {
		delete(s.packs, k)
	}
}

// pack packs a folder into a temporary file and brings it to the head.
func (s *Store) pack(ctx context.Context, job ids.Job, p *wire.Package) (h Hash, err error) {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return h, err
	}
	f, err := os.CreateTemp(s.o.Dir, "*"+coming)
	if err != nil {
		return h, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	h, size, err := packTo(f, p)
	if err != nil {
		code := fault.RuntimeEnvSetup
		if errors.Is(err, archive.ErrTooLarge) {
			code = fault.BadRequest // ValueError, as in Ray
		}
		return h, fault.New(code, "runtime_env: %v", err)
	}
	if err := s.persist(ctx, func() error { return s.bring(ctx, job, h, f, size) }); err != nil {
		return h, fault.New(fault.RuntimeEnvSetup, "runtime_env: bring the folder %s to the head of the cluster: %v", p.Path, err)
	}
	return h, nil
}

// packTo writes a package to a file, and returns its hash and size.
func packTo(f *os.File, p *wire.Package) (h Hash, size int64, err error) {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), block)
	if _, err := archive.Pack(w, p.Path, archive.Options{Named: p.Module, Excludes: p.Excludes, NoGitignore: p.NoGitignore}); err != nil {
		return h, 0, err
	}
	if err := w.Flush(); err != nil {
		return h, 0, err
	}
	size, err = f.Seek(0, io.SeekCurrent)
	return hashOf(sum), size, err
}

// bring has the head keep a package.
func (s *Store) bring(ctx context.Context, job ids.Job, h Hash, f *os.File, size int64) error {
	c, err := s.o.Head(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return offer(ctx, c, &request{what: askKeep, job: job, hash: h, size: size}, f)
}

// offer has a head keep a package for a job. The bytes are sent if the head lacks them.
func offer(ctx context.Context, c net.Conn, q *request, f *os.File) error {
	defer closedWith(ctx, c)()
	c = patient.New(c, stall)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := q.write(c); err != nil {
		return err
	}
	what, _, err := readAnswer(c)
	if err == nil && what == saySend {
		if err = sendFile(c, f, q.size); err == nil {
			what, _, err = readAnswer(c)
		}
	}
	if err == nil && what != sayHave {
		err = fmt.Errorf("the head answers %d to package %s", what, q.hash)
	}
	return err
}
