package packages

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/internal/patient"
)

// What the names of files in the folder of a Depot end with.
const (
	packed = ".tar"    // HASH.tar is a package
	noted  = ".job"    // HASH-JOB.job is empty, and says that the job uses the package
	coming = ".coming" // is not whole yet
)

// maxKept caps how many packages a Depot has.
const maxKept = 16384

// DepotOptions are what a Depot needs of its head.
type DepotOptions struct {
	Dir string
	// Runs says of a job whether it has begun and not ended, as far as the state of this head knows. Fresh waits until that state has all that was committed before.
	Runs  func(ids.Job) bool
	Fresh func(context.Context) error
	// Others are the other heads. Nil: there are none.
	Others otherheads.Others
	Log    *slog.Logger
}

// Depot keeps the packages of the cluster on the disk of a head.
type Depot struct {
	o      DepotOptions
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	jobs   map[Hash]map[ids.Job]bool // who uses which package, also of those that are on their way
	comes  map[Hash]*made            // what is being fetched from another head
}

// OpenDepot opens the folder, which is made if it is missing. It keeps each whole package that a job is noted for: the state of the head, which
// knows whether the job still runs, may not have been read yet. Follow removes what no running job uses.
func OpenDepot(o DepotOptions) (*Depot, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for packages: %w", err)
	}
	if o.Others == nil {
		o.Others = otherheads.Nobody{}
	}
	d := &Depot{o: o, jobs: make(map[Hash]map[ids.Job]bool), comes: make(map[Hash]*made)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder for packages: %w", err)
	}
	for _, e := range entries {
		if h, job, ok := parseNote(e.Name()); ok && d.has(h) {
			d.note(h, job)
		}
	}
	for _, e := range entries {
		if !d.needs(e.Name()) {
			d.remove(e.Name())
		}
	}
	return d, nil
}

// Close ends what is on its way to and from other heads.
func (d *Depot) Close() {
	d.shut()
	d.work.Wait()
}

func (d *Depot) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.cancel()
}

// goWork runs something on a goroutine that Close waits for. It reports false when the Depot is closed.
func (d *Depot) goWork(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Go(f)
	}
	return !d.closed
}

// needs reports whether a file of the folder is one that the tables name.
func (d *Depot) needs(name string) bool {
	if h, job, ok := parseNote(name); ok {
		return d.jobs[h][job]
	}
	h, err := ParseHash(strings.TrimSuffix(name, packed))
	return err == nil && strings.HasSuffix(name, packed) && len(d.jobs[h]) > 0
}

// parseNote reads the name of a file that says which job uses which package.
func parseNote(name string) (h Hash, job ids.Job, ok bool) {
	rest, ok := strings.CutSuffix(name, noted)
	a, b, both := strings.Cut(rest, "-")
	h, err := ParseHash(a)
	if !ok || !both || err != nil {
		return h, job, false
	}
	n, err := hex.Decode(job[:], []byte(b[:min(len(b), 2*len(job))]))
	return h, job, err == nil && n == len(job) && len(b) == 2*len(job)
}

func (d *Depot) path(h Hash) string { return filepath.Join(d.o.Dir, h.String()+packed) }
func (d *Depot) notePath(h Hash, job ids.Job) string {
	return filepath.Join(d.o.Dir, h.String()+"-"+job.String()+noted)
}

// has reports whether a package is there, and whole.
func (d *Depot) has(h Hash) bool {
	_, err := os.Stat(d.path(h))
	return err == nil
}

// note adds a job to those that use a package; mu held.
func (d *Depot) note(h Hash, job ids.Job) {
	if d.jobs[h] == nil {
		d.jobs[h] = make(map[ids.Job]bool)
	}
	d.jobs[h][job] = true
}

// Serve answers one question of a node or of another head. The caller closes the connection.
func (d *Depot) Serve(from uint32, c net.Conn) {
	c = patient.New(c, stall)
	q, err := readRequest(c)
	if err == nil {
		switch {
		case q.what == askKeep:
			err = d.keep(c, &q, d.spread)
		case q.what == askGet:
			err = d.get(c, &q)
		case !d.o.Others.Has(from):
			err = errors.New("only a head of the cluster may ask that")
		case q.what == askStore:
			err = d.keep(c, &q, nil)
		case q.what == askFetch:
			err = d.send(c, q.hash)
		case q.what == askList:
			err = sayEntries(c, d.entries(q.hash))
		}
	}
	if err != nil {
		d.o.Log.Warn("a question about a package failed", "node", from, "package", q.hash, "job", q.job, "error", err)
		_ = refuse(c, err)
	}
}

// keep takes a package of a node, or of another head. Spread, if it is not nil, brings the package to the other heads.
func (d *Depot) keep(c net.Conn, q *request, spread func(net.Conn, *request) error) error {
	if err := d.stillRuns(q.job); err != nil {
		return err
	}
	have, err := d.begin(q.hash, q.job)
	if err != nil {
		return err
	}
	if !have {
		err = d.install(q.hash, func(f *os.File) error {
			if err := answer(c, saySend, 0, ""); err != nil {
				return err
			}
			return receiveFile(c, f, q.size, q.hash)
		})
	}
	if err == nil {
		err = d.commit(q.hash, q.job)
	}
	if err == nil && !d.o.Runs(q.job) { // it has ended meanwhile, perhaps before it was noted here
		err = endedError(q.job)
	}
	if err != nil {
		d.leave(q.hash, q.job)
		return err
	}
	if spread != nil {
		if err := spread(c, q); err != nil {
			return err
		}
	}
	return answer(c, sayHave, 0, "")
}

// stillRuns returns an error if a job has ended. The state of this head may be behind, so a job that it does not know is looked for again.
func (d *Depot) stillRuns(job ids.Job) error {
	if d.o.Runs(job) {
		return nil
	}
	if err := d.fresh(); err != nil {
		return err
	}
	if !d.o.Runs(job) {
		return endedError(job)
	}
	return nil
}

func endedError(job ids.Job) error { return fmt.Errorf("job %s has ended", job) }

// fresh waits until the state of this head has all that was committed before.
func (d *Depot) fresh() error {
	ctx, cancel := context.WithTimeout(d.ctx, askLimit)
	defer cancel()
	if err := d.o.Fresh(ctx); err != nil {
		return &laterError{fmt.Sprintf("the head does not know which jobs run: %v", err)}
	}
	return nil
}

// begin notes that a job uses a package, so that the package stays. It reports whether the package is there.
func (d *Depot) begin(h Hash, job ids.Job) (have bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[h] == nil && len(d.jobs) >= maxKept {
		return false, fmt.Errorf("the head keeps %d packages of running jobs, and that is the most", maxKept)
	}
	d.note(h, job)
	return d.has(h), nil
}

// install puts a package on the disk, which receive writes. When two bring the same, the second one takes the place of the first one.
func (d *Depot) install(h Hash, receive func(*os.File) error) error {
	f, err := os.CreateTemp(d.o.Dir, "*"+coming)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := receive(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), d.path(h))
}

// commit writes down that jobs use a package, so that a later process of the head knows it.
func (d *Depot) commit(h Hash, jobs ...ids.Job) error {
	for _, job := range jobs {
		if err := d.writeNote(h, job); err != nil {
			return err
		}
	}
	folder, err := os.Open(d.o.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// writeNote makes the file that says that a job uses a package. If Ended has been there meanwhile, the note is taken back later.
func (d *Depot) writeNote(h Hash, job ids.Job) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(h, job)
	f, err := os.OpenFile(d.notePath(h, job), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// get sends a package to a node. If this head lacks it, another head may have it.
func (d *Depot) get(c net.Conn, q *request) error {
	if !d.has(q.hash) {
		if err := d.obtain(c, q.hash); err != nil {
			return err
		}
	}
	return d.send(c, q.hash)
}

// send sends a package that is here.
func (d *Depot) send(c net.Conn, h Hash) error {
	f, err := os.Open(d.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := answer(c, sayComes, info.Size(), ""); err != nil {
		return err
	}
	return sendFile(c, f, info.Size())
}

// Ended says that a job has ended. Packages that no other job uses are removed.
func (d *Depot) Ended(job ids.Job) {
	for _, h := range d.usedBy(job) {
		d.leave(h, job)
	}
}

func (d *Depot) usedBy(job ids.Job) (list []Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, jobs := range d.jobs {
		if jobs[job] {
			list = append(list, h)
		}
	}
	return list
}

// leave notes that a job does not use a package any more.
func (d *Depot) leave(h Hash, job ids.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.jobs[h][job] {
		return
	}
	delete(d.jobs[h], job)
	d.remove(filepath.Base(d.notePath(h, job)))
	if len(d.jobs[h]) == 0 {
		delete(d.jobs, h)
		d.remove(filepath.Base(d.path(h)))
	}
}

// remove removes a file of the folder.
func (d *Depot) remove(name string) {
	if err := os.Remove(filepath.Join(d.o.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.o.Log.Warn("a file of a package cannot be removed", "file", name, "error", err)
	}
}

// Jobs returns the jobs that use packages.
func (d *Depot) Jobs() []ids.Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[ids.Job]bool)
	for _, jobs := range d.jobs {
		maps.Copy(all, jobs)
	}
	return slices.Collect(maps.Keys(all))
}
