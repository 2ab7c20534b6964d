package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/internal/patient"
)

// Times of what heads ask each other.
const (
	askLimit    = 10 * time.Second // a short question
	copyLimit   = 10 * time.Minute // a package on its way, which may be large; an end that is silent gives up earlier
	saysWait    = stall / 6        // a node that waits hears so often that the head is at it
	lookAgain   = 30 * time.Second // between two looks at what the others have
	lookSoon    = 2 * time.Second  // when one of them could not be asked
	spreadLimit = stall            // for a majority to have a package
)

// spread brings a package, which is here, to the other heads. It returns when a majority of the heads with a vote has the package on its disks. The others may get it later.
func (d *Depot) spread(c net.Conn, q *request) error {
	list, votes := d.o.Others.Heads()
	have, need := 0, d.o.Others.Majority()
	if votes {
		have++
	}
	type said struct {
		otherheads.Head
		err error
	}
	came := make(chan said, len(list))
	for _, o := range list {
		if !d.goWork(func() { came <- said{o, d.store(o.Number, q)} }) {
			return errClosed
		}
	}
	wait, limit := time.NewTicker(saysWait), time.NewTimer(spreadLimit)
	defer wait.Stop()
	defer limit.Stop()
	var why error
	for left := len(list); have < need; {
		if left == 0 {
			return lacksMajority(need, have, why)
		}
		select {
		case s := <-came:
			left--
			switch {
			case s.err != nil:
				d.o.Log.Warn("another head does not have a package yet", "head", s.Number, "package", q.hash, "error", s.err)
				why = fmt.Errorf("head %d: %w", s.Number, s.err)
			case s.Voter:
				have++
			}
		case <-wait.C:
			if err := answer(c, sayWait, 0, ""); err != nil {
				return err
			}
		case <-limit.C:
			return lacksMajority(need, have, why)
		}
	}
	return nil
}

func lacksMajority(need, have int, why error) error {
	return &laterError{fmt.Sprintf("%d heads with a vote have to keep the package, and %d do so far (%v)", need, have, why)}
}

// store has another head keep a package that is here.
func (d *Depot) store(number uint32, q *request) error {
	ctx, cancel := context.WithTimeout(d.ctx, copyLimit)
	defer cancel()
	f, err := os.Open(d.path(q.hash))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c, err := d.dial(ctx, number)
	if err != nil {
		return err
	}
	defer c.Close()
	return offer(ctx, c, &request{what: askStore, job: q.job, hash: q.hash, size: info.Size()}, f)
}

func (d *Depot) dial(ctx context.Context, number uint32) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return d.o.Others.Dial(ctx, number)
}

// obtain gets a package that a node wants and this head lacks. The node hears meanwhile that the head is at it. ErrMissing means that so many heads lack the package
// that no node was ever told that it is kept.
func (d *Depot) obtain(c net.Conn, h Hash) error {
	m, err := d.coming(h)
	if err != nil {
		return err
	}
	wait := time.NewTicker(saysWait)
	defer wait.Stop()
	for {
		select {
		case <-m.ready:
			return m.err
		case <-wait.C:
			if err := answer(c, sayWait, 0, ""); err != nil {
				return err
			}
		}
	}
}

// coming returns the attempt to get a package from another head, which it begins if nobody is at it.
func (d *Depot) coming(h Hash) (*made, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.comes[h]; m != nil {
		return m, nil
	}
	if d.closed {
		return nil, errClosed
	}
	m := &made{ready: make(chan struct{})}
	d.comes[h] = m
	d.work.Go(func() {
		m.err = d.search(h)
		d.came(h)
		close(m.ready)
	})
	return m, nil
}

func (d *Depot) came(h Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.comes, h)
}

// search looks for a package at all other heads, and copies it.
func (d *Depot) search(h Hash) error {
	list, votes := d.o.Others.Heads()
	lack := 0
	if votes {
		lack++
	}
	var why error
	for _, o := range list {
		found, err := d.list(o.Number, h)
		if err == nil && len(found) > 0 {
			if err = d.copy(o.Number, h, jobsOf(found)); err == nil {
				return nil
			}
		}
		switch {
		case err != nil && !errors.Is(err, ErrMissing):
			why = fmt.Errorf("head %d: %w", o.Number, err)
		case o.Voter:
			lack++
		}
	}
	if why == nil || lack >= d.o.Others.Majority() {
		return ErrMissing
	}
	return &laterError{fmt.Sprintf("the head does not have the package, and cannot ask all others (%v)", why)}
}

func jobsOf(list []entry) (jobs []ids.Job) {
	for _, e := range list {
		jobs = append(jobs, e.job)
	}
	return jobs
}

// list asks another head which packages it has, or who uses one of them.
func (d *Depot) list(number uint32, h Hash) ([]entry, error) {
	ctx, cancel := context.WithTimeout(d.ctx, askLimit)
	defer cancel()
	c, err := d.dial(ctx, number)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer closedWith(ctx, c)()
	c = patient.New(c, stall)
	if err := (&request{what: askList, hash: h}).write(c); err != nil {
		return nil, err
	}
	return readEntries(c)
}

// entries returns who uses which packages that are whole; of one package, if the hash is one.
func (d *Depot) entries(of Hash) (list []entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, jobs := range d.jobs {
		if of != (Hash{}) && of != h || !d.has(h) {
			continue
		}
		for job := range jobs {
			list = append(list, entry{h, job})
		}
	}
	return list
}

// copy gets a package from another head for those of the jobs that run, or notes these jobs if the package is here. It is ErrMissing if none of them runs.
func (d *Depot) copy(number uint32, h Hash, jobs []ids.Job) (err error) {
	if err := d.fresh(); err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(job ids.Job) bool { return !d.o.Runs(job) })
	if len(jobs) == 0 {
		return ErrMissing
	}
	jobs = slices.DeleteFunc(jobs, func(job ids.Job) bool { return d.notes(h, job) })
	if len(jobs) == 0 {
		return nil
	}
	have := false
	for _, job := range jobs {
		if have, err = d.begin(h, job); err != nil {
			return err
		}
	}
	if !have {
		err = d.install(h, func(f *os.File) error {
			ctx, cancel := context.WithTimeout(d.ctx, copyLimit)
			defer cancel()
			c, err := d.dial(ctx, number)
			if err != nil {
				return err
			}
			defer c.Close()
			return ask(ctx, c, &request{what: askFetch, hash: h}, f)
		})
	}
	if err == nil {
		err = d.commit(h, jobs...)
	}
	for _, job := range jobs {
		if err != nil || !d.o.Runs(job) {
			d.leave(h, job)
		}
	}
	return err
}

// notes reports whether a job is noted for a package that is here.
func (d *Depot) notes(h Hash, job ids.Job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs[h][job] && d.has(h)
}

// Follow copies to this head what the others have for running jobs, and removes what no running job uses, until the context ends. The state of the head
// must have been read.
func (d *Depot) Follow(ctx context.Context) {
	for {
		changed := d.o.Others.Changed()
		pause := lookAgain
		if err := d.catchUp(); err != nil && ctx.Err() == nil {
			d.o.Log.Warn("this head may lack packages that other heads have; it is tried again", "error", err)
			pause = lookSoon
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// catchUp makes the packages here those of the jobs that run.
func (d *Depot) catchUp() (err error) {
	if ended := slices.DeleteFunc(d.Jobs(), d.o.Runs); len(ended) > 0 {
		if err := d.fresh(); err != nil {
			return err
		}
		for _, job := range slices.DeleteFunc(ended, d.o.Runs) {
			d.Ended(job)
		}
	}
	list, _ := d.o.Others.Heads()
	for _, o := range list {
		all, e := d.list(o.Number, Hash{})
		if e != nil {
			err = errors.Join(err, fmt.Errorf("head %d: %w", o.Number, e))
			continue
		}
		lacks := make(map[Hash][]ids.Job)
		for _, e := range all {
			if !d.notes(e.hash, e.job) && d.o.Runs(e.job) {
				lacks[e.hash] = append(lacks[e.hash], e.job)
			}
		}
		for _, h := range slices.Collect(maps.Keys(lacks)) {
			if e := d.copy(o.Number, h, lacks[h]); e != nil && !errors.Is(e, ErrMissing) {
				err = errors.Join(err, fmt.Errorf("package %s of head %d: %w", h, o.Number, e))
			}
		}
	}
	return err
}
