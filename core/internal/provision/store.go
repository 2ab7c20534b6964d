package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// failureKept is how long a failure answers whoever needs the same folder again. It is shorter than a person needs to mend something.
const failureKept = 3 * time.Second

// Options are what a Store needs of its node.
type Options struct {
	Dir    string           // is made when the first folder is there
	LogDir string           // for what the programs write
	Caps   map[string]int64 // bytes of folders that nobody uses, by field; a field that is missing keeps nothing
	Log    *slog.Logger
}

// Store has the folders that were made on one node.
type Store struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	works  sync.WaitGroup

	mu      sync.Mutex
	folders map[string]*folder
	uses    uint64 // counts uses, for the order of removal
}

// folder is one that is there, or on its way, or has failed a short while ago.
type folder struct {
	field string
	ready chan struct{} // closed when the fields below up to err are set
	raw   json.RawMessage
	made  answer
	err   error

	done   bool
	stop   context.CancelFunc
	wanted int    // who waits for it
	users  int    // who uses it
	used   uint64 // when that began last
}

// Provided is what an environment needs, and is in use until Free.
type Provided struct {
	Command []string          // the interpreter of the workers and its arguments; empty: the environment's
	Answers []json.RawMessage // one for each need, null for those that are no folders

	store *Store
	keys  []string
	once  sync.Once
}

// NewStore returns a Store without folders.
func NewStore(o Options) *Store {
	s := &Store{o: o, folders: make(map[string]*folder)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends all programs and removes all folders. No worker may be left.
func (s *Store) Close() {
	s.shut()
	s.works.Wait()
	if err := os.RemoveAll(s.o.Dir); err != nil {
		s.o.Log.Warn("the folders of runtime environments are not removed", "folder", s.o.Dir, "error", err)
	}
}

// shut lets nothing begin any more.
func (s *Store) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
}

// Provide makes what the environment needs, with the given variables. It waits until all is there.
func (s *Store) Provide(ctx context.Context, e *wire.EnvSpec, env []string) (*Provided, error) {
	limits, err := limitsOf(e.Needs)
	if err != nil {
		return nil, err
	}
	if limits.Seconds > 0 {
		late := fmt.Errorf("it was not ready after %g s, which is its setup_timeout_seconds (runtime_env={'config': {'setup_timeout_seconds': ...}})", limits.Seconds)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(limits.Seconds*float64(time.Second)), late)
		defer cancel()
	}
	p := &Provided{store: s, Answers: make([]json.RawMessage, len(e.Needs))}
	for i, n := range e.Needs {
		p.Answers[i] = json.RawMessage("null")
		if err = s.meet(ctx, p, e, i, env); err != nil {
			p.Free()
			return nil, fault.New(fault.RuntimeEnvSetup, "runtime_env[%q] could not be set up on this node: %v", n.Field, err)
		}
	}
	return p, nil
}

// limitsOf reads the need that says how an environment is made.
func limitsOf(needs []wire.Need) (l wire.NeedLimits, err error) {
	for _, n := range needs {
		if n.Field == wire.NeedConfig {
			if err := json.Unmarshal([]byte(n.What), &l); err != nil {
				return l, fault.New(fault.RuntimeEnvSetup, "runtime_env['config']: %v", err)
			}
		}
	}
	return l, nil
}

// Lazy reports whether an environment is only made when a task needs it.
func Lazy(e *wire.EnvSpec) bool {
	l, err := limitsOf(e.Needs)
	return err == nil && l.Lazy
}

// meet provides one need.
func (s *Store) meet(ctx context.Context, p *Provided, e *wire.EnvSpec, i int, env []string) (err error) {
	n := e.Needs[i]
	switch n.Field {
	case wire.NeedConfig, wire.NeedHook:
		return nil
	case wire.NeedCommand:
		var c struct{ Command []string }
		if err := json.Unmarshal([]byte(n.What), &c); err != nil || len(c.Command) == 0 {
			return fmt.Errorf("%.200q names no program", n.What)
		}
		p.Command, err = findProgram(c.Command, workingDir(e, p.Answers[:i]), env)
		return err
	case wire.NeedWorkingDir, wire.NeedModule, wire.NeedPip, wire.NeedUv:
	default:
		return errors.New("this version of Eagle Ray does not have it")
	}
	o := &order{Field: n.Field, What: json.RawMessage(n.What), Cwd: e.Cwd, Before: p.Answers[:i:i], Needs: e.Needs[:i:i]}
	seen := []string{n.Field, n.What, e.Python}
	if n.Package != 0 {
		if n.Package < 0 || n.Package > len(e.Packages) {
			return fmt.Errorf("it is made of package %d, and the environment has %d", n.Package, len(e.Packages))
		}
		k := e.Packages[n.Package-1]
		o.Package = k.Path
		if seen = append(seen, k.Hash); k.Hash == "" {
			seen = append(seen, k.Path)
		}
	}
	if strings.Contains(n.What, `"after"`) { // its What says that it is made from what was provided before
		for _, before := range o.Before {
			seen = append(seen, string(before))
		}
	}
	key := keyOf(seen)
	o.Folder = filepath.Join(s.o.Dir, key)
	f, err := s.obtain(ctx, key, n.Field, func(ctx context.Context) (json.RawMessage, answer, error) {
		return run(ctx, e.Python, env, filepath.Join(s.o.LogDir, "runtime_env_setup-"+key+".log"), o)
	})
	if err != nil {
		return err
	}
	p.keys, p.Answers[i] = append(p.keys, key), f.raw
	if len(f.made.Command) > 0 {
		p.Command = f.made.Command
	}
	return nil
}

// keyOf returns the name of a folder that is made of all that.
func keyOf(seen []string) string {
	h := sha256.New()
	for _, text := range seen {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// obtain returns a folder that is in use from now on. If it is not there, it is made.
func (s *Store) obtain(ctx context.Context, key, field string, make func(context.Context) (json.RawMessage, answer, error)) (*folder, error) {
	for {
		f, err := s.want(key, field, make)
		if err != nil {
			return nil, err
		}
		select {
		case <-f.ready:
			if err = s.taken(f, f.err == nil); !errors.Is(err, errGivenUp) {
				return f, err
			}
		case <-ctx.Done():
			_ = s.taken(f, false)
			return nil, context.Cause(ctx)
		}
	}
}

// errGivenUp says that a folder is not made because nobody has waited for it any more. Who comes later begins anew.
var errGivenUp = errors.New("nobody needs it any more")

// errClosed says that the node is ending.
var errClosed = errors.New("the node is ending")

// want notes that somebody waits for a folder, and begins to make it if nobody has.
func (s *Store) want(key, field string, make func(context.Context) (json.RawMessage, answer, error)) (*folder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	f := s.folders[key]
	if f == nil {
		ctx, stop := context.WithCancelCause(s.ctx)
		f = newFolder(field, func() { stop(errGivenUp) })
		s.folders[key] = f
		s.works.Add(1)
		go func() {
			defer s.works.Done()
			defer f.stop()
			s.make(ctx, key, f, make)
		}()
	}
	f.wanted++
	return f, nil
}

func newFolder(field string, stop func()) *folder {
	return &folder{field: field, ready: make(chan struct{}), stop: stop}
}

// make makes a folder.
func (s *Store) make(ctx context.Context, key string, f *folder, make func(context.Context) (json.RawMessage, answer, error)) {
	at := filepath.Join(s.o.Dir, key)
	err := os.MkdirAll(s.o.Dir, 0o700)
	if err == nil {
		err = os.RemoveAll(at) // what a run before has left that was given up
	}
	var raw json.RawMessage
	var made answer
	if err == nil {
		raw, made, err = make(ctx)
	}
	if err != nil {
		_ = os.RemoveAll(at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.raw, f.made, f.err, f.done = raw, made, err, true
	close(f.ready)
	switch {
	case err == nil:
	case errors.Is(err, errGivenUp):
		delete(s.folders, key)
	default:
		s.failed(key, f)
	}
}

// failed forgets a failure after a while; mu held.
func (s *Store) failed(key string, f *folder) {
	time.AfterFunc(failureKept, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.folders[key] == f {
			delete(s.folders, key)
		}
	})
}

// taken notes that somebody waits no more, and uses the folder from now on or does not. What nobody waits for is not made.
func (s *Store) taken(f *folder, use bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.wanted--
	switch {
	case use:
		s.uses++
		f.users, f.used = f.users+1, s.uses
	case !f.done && f.wanted == 0:
		f.stop()
	case f.done && f.err == nil:
		s.trim(f.field)
	}
	return f.err
}

// Free says that the environment is not used any more. It may be called again, and on nil.
func (p *Provided) Free() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		s := p.store
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, key := range p.keys {
			if f := s.folders[key]; f != nil {
				f.users--
				s.trim(f.field)
			}
		}
	})
}

// trim removes folders of a field that nobody uses while they are larger than the cap; mu held.
func (s *Store) trim(field string) {
	for {
		var oldest string
		total := int64(0)
		for key, f := range s.folders {
			if f.field != field || !f.done || f.err != nil || f.users > 0 || f.wanted > 0 {
				continue
			}
			total += f.made.Bytes
			if oldest == "" || f.used < s.folders[oldest].used {
				oldest = key
			}
		}
		if oldest == "" || total <= s.o.Caps[field] {
			return
		}
		s.remove(oldest)
	}
}

// remove removes a folder that nobody uses; mu held. Removing the files may take long, so the folder is renamed here and removed later.
func (s *Store) remove(key string) {
	delete(s.folders, key)
	if s.ctx.Err() != nil {
		return // Close removes all
	}
	trash, err := os.MkdirTemp(s.o.Dir, "gone-")
	if err == nil {
		err = os.Rename(filepath.Join(s.o.Dir, key), filepath.Join(trash, "x"))
	}
	if err != nil {
		s.o.Log.Warn("a folder of a runtime environment cannot be removed", "folder", key, "error", err)
		return
	}
	s.works.Add(1)
	go func() {
		defer s.works.Done()
		if err := os.RemoveAll(trash); err != nil {
			s.o.Log.Warn("a folder of a runtime environment cannot be removed", "folder", trash, "error", err)
		}
	}()
}

// Sizes returns the numbers of entries of the tables.
func (s *Store) Sizes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{"provided_folders": len(s.folders)}
}
