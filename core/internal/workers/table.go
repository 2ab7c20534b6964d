package workers

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/eagleray/eagleray/core/fault"
)

// Options describe a table of workers.
type Options struct {
	SessionDir  string // has the daemon's socket, d.sock, and the folder logs
	Interpreter string // for environments that name none
	Lock        *sync.Mutex
	Log         *slog.Logger
	Place       Place             // nil: environments need nothing of other nodes
	Provide     Provide           // nil: environments need nothing that is made here
	NodeEnv     map[string]string // variables of the node, for workers whose job and environment do not set them
}

// Table is the workers of one node: which are starting, ready or ending. Its owner's
// lock guards it; see doc.go.
type Table struct {
	o       Options
	log     *slog.Logger
	mu      *sync.Mutex // the owner's
	reaper  *Reaper
	orphans *Orphans

	workers    map[*Worker]struct{}
	tokens     map[string]*Worker // those that have not connected
	pids       map[int]*Worker
	zygotes    map[envKey]*envZygote
	failures   []envFailure
	startKills int  // workers killed from outside in a row while they started
	closing    bool // Stop was called
}

// newTable returns a table that collects no processes.
func newTable(o Options) *Table {
	return &Table{
		o: o, log: o.Log, mu: o.Lock, orphans: NewOrphans(),
		workers: make(map[*Worker]struct{}),
		tokens:  make(map[string]*Worker),
		pids:    make(map[int]*Worker),
		zygotes: make(map[envKey]*envZygote),
	}
}

// locked calls f with the owner's lock held. The lock is released also when f panics.
func (t *Table) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// Claim returns the worker that shows the token. A token serves once.
func (t *Table) Claim(token string) (*Worker, error) {
	w := t.tokens[token]
	if token == "" || w == nil || w.state != Starting {
		return nil, fault.New(fault.BadRequest, "this daemon has ordered no worker with this token")
	}
	delete(t.tokens, token)
	return w, nil
}

// ByPid returns the worker with the process id, nil if there is none.
func (t *Table) ByPid(pid int) *Worker { return t.pids[pid] }

// Sizes returns how many entries the table's maps have, by name.
func (t *Table) Sizes() map[string]int {
	return map[string]int{"tokens": len(t.tokens), "pids": len(t.pids), "zygotes": len(t.zygotes)}
}

// SweepJob ends what the workers of an ended job have left running.
func (t *Table) SweepJob(j *Job) {
	if t.closing {
		return
	}
	known := make(map[int]bool, len(t.pids))
	for pid := range t.pids {
		known[pid] = true
	}
	go t.orphans.SweepJob(j.ID, known)
}

// setPid notes a worker's process id.
func (t *Table) setPid(w *Worker, pid int) {
	if w.pid != 0 {
		return
	}
	w.pid = pid
	t.pids[pid] = w
	Offer(pid)
	if w.output != nil {
		w.output.SetPid(pid)
	}
}

// startFailure is the message about a worker that did not come up.
func startFailure(why string, o *Output) string {
	text := fmt.Sprintf("the worker process for this task's environment could not be started: %s", why)
	if o != nil {
		if said := o.Tail(); said != "" {
			text += "; it last wrote:\n" + said
		}
	}
	return text
}
