package packages

import (
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
)

// What the names of files in the folder of a Depot end with.
const (
	packed = ".tar"    // HASH.tar is a package
	noted  = ".job"    // HASH-JOB.job is empty, and says that the job uses the package
	coming = ".coming" // is not whole yet
)

// maxKept caps how many packages a Depot has.
const maxKept = 16384

// Depot keeps the packages of the cluster on the disk of the head.
type Depot struct {
	dir  string
	runs func(ids.Job) bool
	log  *slog.Logger

	mu   sync.Mutex
	jobs map[Hash]map[ids.Job]bool // who uses which package, also of those that are on their way
}

// OpenDepot opens the folder, which is made if it is missing. Runs says of a job whether it has begun and not ended: packages that no such job uses are removed.
func OpenDepot(dir string, runs func(ids.Job) bool, log *slog.Logger) (*Depot, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for packages: %w", err)
	}
	d := &Depot{dir: dir, runs: runs, log: log, jobs: make(map[Hash]map[ids.Job]bool)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the folder for packages: %w", err)
	}
	for _, e := range entries {
		if h, job, ok := parseNote(e.Name()); ok && runs(job) && d.has(h) {
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

func (d *Depot) path(h Hash) string { return filepath.Join(d.dir, h.String()+packed) }
func (d *Depot) notePath(h Hash, job ids.Job) string {
	return filepath.Join(d.dir, h.String()+"-"+job.String()+noted)
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

// Serve answers one question of a node. The caller closes the connection.
func (d *Depot) Serve(from uint32, c net.Conn) {
	q, err := readRequest(c)
	if err == nil {
		switch q.what {
		case askKeep:
			err = d.keep(c, &q)
		case askGet:
			err = d.get(c, &q)
		}
	}
	if err != nil {
		d.log.Warn("a node's question about a package failed", "node", from, "package", q.hash, "job", q.job, "error", err)
		_ = refuse(c, err)
	}
}

// keep takes a package of a node.
func (d *Depot) keep(c net.Conn, q *request) error {
	have, err := d.begin(q)
	if err != nil {
		return err
	}
	if !have {
		if err := d.take(c, q); err != nil {
			d.leave(q.hash, q.job)
			return err
		}
	}
	if err := d.commit(q); err != nil {
		d.leave(q.hash, q.job)
		return err
	}
	if !d.runs(q.job) { // it has ended meanwhile, perhaps before it was noted here
		d.leave(q.hash, q.job)
		return fmt.Errorf("job %s has ended", q.job)
	}
	return answer(c, sayHave, 0, "")
}

// begin notes that a job uses a package, so that the package stays. It reports whether the package is there.
func (d *Depot) begin(q *request) (have bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[q.hash] == nil && len(d.jobs) >= maxKept {
		return false, fmt.Errorf("the head keeps %d packages of running jobs, and that is the most", maxKept)
	}
	d.note(q.hash, q.job)
	return d.has(q.hash), nil
}

// take receives a package. When two nodes bring the same, the second one takes the place of the first one.
func (d *Depot) take(c net.Conn, q *request) error {
	f, err := os.CreateTemp(d.dir, "*"+coming)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := answer(c, saySend, 0, ""); err != nil {
		return err
	}
	if err := receiveFile(c, f, q.size, q.hash); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), d.path(q.hash))
}

// commit writes down that a job uses a package, so that a later process of the head knows it.
func (d *Depot) commit(q *request) error {
	if err := d.writeNote(q); err != nil {
		return err
	}
	folder, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// writeNote makes the file that says that a job uses a package. If Ended has been there meanwhile, the note is taken back later.
func (d *Depot) writeNote(q *request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(q.hash, q.job)
	f, err := os.OpenFile(d.notePath(q.hash, q.job), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// get sends a package.
func (d *Depot) get(c net.Conn, q *request) error {
	f, err := os.Open(d.path(q.hash))
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
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("a file of a package cannot be removed", "file", name, "error", err)
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
