package warden

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/workers"
)

// Child is a process that Run keeps.
type Child struct {
	Name    string
	Restart bool // it is started again when it ends; otherwise everything ends with it

	// Again reports whether a child without Restart that was ready is started again after it has ended in this way. What it has left is
	// killed before. Nil: it is not.
	Again func(status int) bool

	// Leaves reports whether the others go on without a child that has ended in this way. Nil: they do not.
	Leaves func(status int) bool

	// Command returns how the child is started. Said holds what each child has said behind "ready", by
	// name: for a child that is started again, also what it has said itself.
	Command func(said map[string]string) Command
}

// Options of Run. The zero value of each is usable.
type Options struct {
	Signals <-chan os.Signal // the first one ends everything, the next one kills what is left

	Ready func(said map[string]string) // all children are ready for the first time
	// Ended: the child has ended for good, and nothing that it left lives. said is what it has said last behind "ready".
	Ended func(child string, status int, said string)

	ReadyLimit time.Duration // for each child; 0: 30 s
	Grace      time.Duration // between SIGTERM and SIGKILL; 0: 10 s
	Log        *slog.Logger
}

const (
	defaultReadyLimit = 30 * time.Second
	defaultGrace      = 10 * time.Second
	sweepLimit        = 10 * time.Second // a process that the kernel does not let go is named and left
	sweepPause        = 10 * time.Millisecond
	lastWords         = time.Second // for the line of a child that has ended
)

// Run starts the children and returns when all have ended: nil when a signal has ended them, and
// a *Failure that says which child has ended by itself or could not start.
func Run(children []Child, o Options) error {
	if len(children) == 0 {
		return errors.New("warden: there are no children to run")
	}
	if o.ReadyLimit == 0 {
		o.ReadyLimit = defaultReadyLimit
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	runtime.LockOSThread() // see doc.go
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("warden: become the subreaper: %w", err)
	}
	r := &runner{
		children: children, options: o, m: newMachine(children, o.ReadyLimit, o.Grace), began: time.Now(),
		alive: map[int]*process{}, before: map[int]bool{}, status: make([]int, len(children)),
		lines: make(chan line), done: make(chan struct{}), ended: make(chan os.Signal, 1),
	}
	for _, p := range offspring() {
		r.before[p.Pid] = true
	}
	signal.Notify(r.ended, unix.SIGCHLD)
	defer signal.Stop(r.ended)
	defer close(r.done)
	for !r.perform() {
		r.await()
	}
	if r.m.why == nil { // a nil *Failure is no nil error
		return nil
	}
	return r.m.why
}

// runner performs what the machine orders, and tells it what happens.
type runner struct {
	children []Child
	options  Options
	m        *machine
	began    time.Time
	alive    map[int]*process // the children that have not been reaped, by pid
	before   map[int]bool     // children of this process that are none of Run's
	status   []int            // how each child ended
	lines    chan line
	done     chan struct{}
	ended    chan os.Signal
}

// perform carries out the machine's orders, and those that follow from them. It reports whether
// the last one was the end.
func (r *runner) perform() (finished bool) {
	for actions := r.m.take(); len(actions) > 0; actions = r.m.take() {
		for _, a := range actions {
			name := r.children[a.kid].Name
			switch a.do {
			case start:
				r.start(a.kid)
			case term:
				r.signal(a.kid, unix.SIGTERM)
			case kill:
				r.signal(a.kid, unix.SIGKILL)
			case sweep:
				r.sweep()
				if r.options.Ended != nil {
					r.options.Ended(name, r.status[a.kid], r.m.said[name])
				}
			case wipe:
				r.sweep()
			case ready:
				if r.options.Ready != nil {
					r.options.Ready(maps.Clone(r.m.said))
				}
			case restart:
				k := r.m.kids[a.kid]
				r.options.Log.Warn("a process has ended and is started again", "process", name, "pid", k.pid,
					"how", statusText(r.status[a.kid]), "reason", k.reason, "after", pause(k.failed))
			case finish:
				finished = true
			}
		}
	}
	return finished
}

// await waits for the next event and tells the machine.
func (r *runner) await() {
	var due <-chan time.Time
	if at, any := r.m.nextTime(); any {
		timer := time.NewTimer(at - time.Since(r.began))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-r.ended:
		r.tick()
		r.reap()
	case s := <-r.options.Signals:
		r.tick()
		r.options.Log.Info("ending", "signal", s.String())
		r.m.signal()
	case l := <-r.lines:
		r.tick()
		r.heard(l)
	case <-due:
		r.tick()
	}
}

func (r *runner) tick() { r.m.advance(time.Since(r.began)) }

func (r *runner) start(i int) {
	p, err := launch(i, r.children[i].Command(maps.Clone(r.m.said)), r.lines, r.done)
	if err != nil {
		r.m.notStarted(i, err)
		return
	}
	r.alive[p.pid] = p
	r.m.started(i, p.pid)
}

// signal sends a signal to a child that lives. Its number is its own until it has been reaped.
func (r *runner) signal(i int, s unix.Signal) {
	for pid, p := range r.alive {
		if p.kid == i {
			_ = unix.Kill(pid, s)
		}
	}
}

func (r *runner) heard(l line) {
	if l.by.spoken = true; r.alive[l.by.pid] == l.by {
		r.m.spoke(l.by.kid, l.text)
	}
}

// reap collects every child that has ended.
func (r *runner) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		delete(r.before, pid)
		if p := r.alive[pid]; p != nil {
			r.listen(p)
			delete(r.alive, pid)
			r.status[p.kid] = statusOf(status)
			r.m.gone(p.kid, r.status[p.kid])
		}
	}
}

// listen takes the line that a child has said before it ended: it may be the reason.
func (r *runner) listen(p *process) {
	limit := time.NewTimer(lastWords) // somebody else may hold the pipe open
	defer limit.Stop()
	for !p.spoken {
		select {
		case l := <-r.lines:
			r.heard(l)
		case <-limit.C:
			return
		}
	}
}

func statusOf(s unix.WaitStatus) int {
	if s.Signaled() {
		return -int(s.Signal())
	}
	return s.ExitStatus()
}

// sweep kills every process below this one, other than the children that live. Whatever has lost
// its parent is a child of this process, so when no other child is left, nothing is.
func (r *runner) sweep() {
	for end := time.Now().Add(sweepLimit); ; {
		var left []int
		for _, p := range offspring() {
			if r.alive[p.Pid] == nil && !r.before[p.Pid] {
				left = append(left, p.Pid)
				_ = unix.Kill(p.Pid, unix.SIGKILL)
			}
		}
		r.reap()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			r.options.Log.Error("processes do not end although they were killed", "pids", left)
			return
		}
		select {
		case <-r.ended:
		case <-time.After(sweepPause):
		}
	}
}

// offspring lists the children of this process.
func offspring() (list []workers.ProcStat) {
	me := os.Getpid()
	for _, p := range workers.Processes() {
		if p.PPid == me {
			list = append(list, p)
		}
	}
	return list
}
