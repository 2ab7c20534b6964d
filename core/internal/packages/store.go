package packages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// keepIdle is how long the packages of a job stay that has nothing to do on this node.
const keepIdle = 10 * time.Minute

// Options are what a Store needs of its node.
type Options struct {
	Dir  string // is made when the first package is there
	Node uint32 // the node's number
	// Head dials a bulk connection to the head. Nil: there is one node, and folders are used where they are.
	Head func(context.Context) (net.Conn, error)
	Log  *slog.Logger
	// Idle is how long packages stay for a job that has nothing to do here; 0: keepIdle.
	Idle time.Duration
}

// Store has the packages of one node.
type Store struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	gets   sync.WaitGroup

	mu    sync.Mutex
	here  map[Hash]*placed
	jobs  map[ids.Job]*user
	packs map[packing]*made
}

// placed is a package that is here, or on its way.
type placed struct {
	ready  chan struct{} // closed when err is set
	err    error
	done   bool
	stop   context.CancelFunc
	wanted int              // who waits for it
	jobs   map[ids.Job]bool // that use it
}

// user is a job that has packages here, or has packed folders here.
type user struct {
	over  bool        // the job has ended
	left  bool        // nothing of the job runs here
	timer *time.Timer // drops its packages when nothing has come for a while
}

// packing names what a job packs.
type packing struct {
	job    ids.Job
	folder string // path, kind and excludes
}

// made is a folder that was packed, or is being packed.
type made struct {
	ready chan struct{}
	hash  Hash
	err   error
}

// NewStore returns a Store without packages.
func NewStore(o Options) *Store {
	if o.Idle == 0 {
		o.Idle = keepIdle
	}
	s := &Store{o: o, here: make(map[Hash]*placed), jobs: make(map[ids.Job]*user), packs: make(map[packing]*made)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close gives up what is on its way, and removes all packages. No worker may be left.
func (s *Store) Close() {
	s.shut()
	s.gets.Wait()
	if err := os.RemoveAll(s.o.Dir); err != nil {
		s.o.Log.Warn("the packages are not removed", "folder", s.o.Dir, "error", err)
	}
}

func (s *Store) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	for _, u := range s.jobs {
		u.stop()
	}
}

// run runs something on a goroutine that Close waits for; mu held. It reports false when the Store is closed.
func (s *Store) run(f func()) bool {
	if s.ctx.Err() != nil {
		return false
	}
	s.gets.Add(1)
	go func() {
		defer s.gets.Done()
		f()
	}()
	return true
}

// Place makes the packages of an environment available and returns the environment with paths that lead to them. It waits until all are there. An environment without packages of
// other nodes is returned as it is.
func (s *Store) Place(ctx context.Context, job ids.Job, e *wire.EnvSpec) (*wire.EnvSpec, error) {
	at := make([]string, len(e.Packages))
	moved := false
	for i, p := range e.Packages {
		if p.Hash == "" || p.Node == s.o.Node {
			continue
		}
		h, err := ParseHash(p.Hash)
		if err == nil {
			at[i], err = s.place(ctx, job, h)
		}
		if err != nil {
			return nil, fmt.Errorf("the folder %s of the runtime environment, which node %d has packed, cannot be had: %w", p.Path, p.Node, err)
		}
		moved = true
	}
	if !moved {
		return e, nil
	}
	return relocate(e, at, s.o.Node), nil
}

// place returns the folder of a package, which it gets from the head if this node does not have the package.
func (s *Store) place(ctx context.Context, job ids.Job, h Hash) (string, error) {
	p := s.want(job, h)
	defer s.unwant(h, p)
	select {
	case <-p.ready:
		return s.folder(h), p.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (s *Store) folder(h Hash) string { return filepath.Join(s.o.Dir, h.String()) }

// want notes that a job uses a package and somebody waits for it. If it is new, the package is fetched.
func (s *Store) want(job ids.Job, h Hash) *placed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present(job)
	p := s.here[h]
	if p == nil {
		ctx, stop := context.WithCancel(s.ctx)
		p = &placed{ready: make(chan struct{}), stop: stop, jobs: make(map[ids.Job]bool)}
		s.here[h] = p
		if !s.run(func() {
			defer stop()
			dir, err := s.fetch(ctx, h)
			s.arrived(h, p, dir, err)
		}) {
			stop() // place sees that nothing comes any more
			p.err, p.done = errClosed, true
			close(p.ready)
		}
	}
	p.jobs[job] = true
	p.wanted++
	return p
}

// arrived ends the fetching of a package, which was unpacked in a folder of its own. If nobody wants the package any more, that folder goes.
func (s *Store) arrived(h Hash, p *placed, dir string, err error) {
	if err == nil {
		err = s.install(h, p, dir)
	}
	if err != nil && dir != "" {
		os.RemoveAll(dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.err, p.done = err, true
	close(p.ready)
	if err != nil && s.here[h] == p {
		delete(s.here, h) // whoever wants it next tries again
	}
}

// install gives a folder its name, if the package is still wanted.
func (s *Store) install(h Hash, p *placed, dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[h] != p {
		return context.Canceled
	}
	return os.Rename(dir, s.folder(h))
}

// unwant notes that somebody waits no more. What nobody waits for is not fetched.
func (s *Store) unwant(h Hash, p *placed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.wanted--
	switch {
	case p.wanted > 0:
	case !p.done:
		p.stop()
		delete(s.here, h)
	default:
		s.dropUnused(h, p)
	}
}

// present notes that a job has something to do here; mu held.
func (s *Store) present(job ids.Job) *user {
	u := s.jobs[job]
	if u == nil {
		u = &user{}
		s.jobs[job] = u
	}
	u.left = false
	u.stop()
	return u
}

func (u *user) stop() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
}

// Ended says that a job has ended in the whole cluster. Its packages go when nothing of it is left here.
func (s *Store) Ended(job ids.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.jobs[job]; u != nil {
		u.over = true
		s.review(job, u)
	}
}

// Left says that nothing of a job is left here. The job may come back.
func (s *Store) Left(job ids.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.jobs[job]
	if u == nil {
		return
	}
	u.left = true
	u.stop()
	u.timer = time.AfterFunc(s.o.Idle, func() { s.idle(job, u) })
	s.review(job, u)
}

// idle drops the packages of a job that has had nothing to do here for a while.
func (s *Store) idle(job ids.Job, u *user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[job] == u && u.left {
		s.drop(job, u)
	}
}

// review drops the packages of a job that is over; mu held.
func (s *Store) review(job ids.Job, u *user) {
	if u.over && u.left {
		s.drop(job, u)
	}
}

// drop forgets a job; mu held.
func (s *Store) drop(job ids.Job, u *user) {
	u.stop()
	delete(s.jobs, job)
	for k := range s.packs {
		if k.job == job {
			delete(s.packs, k)
		}
	}
	for h, p := range s.here {
		if p.jobs[job] {
			delete(p.jobs, job)
			s.dropUnused(h, p)
		}
	}
}

// dropUnused removes a package that no job uses; mu held. Removing the files may take long, so the folder is renamed here and removed later.
func (s *Store) dropUnused(h Hash, p *placed) {
	if !p.done || p.err != nil || p.wanted > 0 || len(p.jobs) > 0 || s.here[h] != p {
		return
	}
	delete(s.here, h)
	trash, err := os.MkdirTemp(s.o.Dir, "gone-")
	if err == nil {
		err = os.Rename(s.folder(h), filepath.Join(trash, "x"))
	}
	if err != nil {
		s.o.Log.Warn("a package cannot be removed", "package", h, "error", err)
		return
	}
	s.run(func() { // else Close removes all
		if err := os.RemoveAll(trash); err != nil {
			s.o.Log.Warn("a package cannot be removed", "package", h, "folder", trash, "error", err)
		}
	})
}

// Sizes returns the numbers of entries of the tables.
func (s *Store) Sizes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{"packages": len(s.here), "package_users": len(s.jobs), "packed_folders": len(s.packs)}
}

// errNoHead says that folders cannot be brought to other nodes.
var errNoHead = errors.New("this node is alone")

// errClosed says that the node is ending.
var errClosed = errors.New("the node is ending")
