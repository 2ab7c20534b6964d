package workers

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// Orphans ends what dead workers leave behind: their process groups at once, and
// a little later, in one look for all of them, the members of their sessions
// that the subreaper inherited. That look is at this process's children, of
// which there are few; the kernel may leave one out when others end meanwhile,
// so some time later all processes are looked at.
type Orphans struct {
	mu     sync.Mutex
	soon   round
	later  round
	closed bool
}

// round is one of the looks: at what dead session leaders have left.
type round struct {
	dead  map[int]bool
	timer *time.Timer
}

const (
	sweepAfter = 20 * time.Millisecond
	againAfter = time.Second
)

// NewOrphans returns one that watches nothing yet.
func NewOrphans() *Orphans { return &Orphans{} }

// Sweep ends what a worker has left. Pid is the worker's, which led a session of its own.
func (b *Orphans) Sweep(pid int) {
	if pid <= 1 {
		return
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plan(&b.soon, pid, sweepAfter, children)
	b.plan(&b.later, pid, againAfter, Processes)
}

// plan adds a dead session leader to a round, which begins after the given time; mu held.
func (b *Orphans) plan(r *round, pid int, after time.Duration, list func() []ProcStat) {
	if b.closed {
		return
	}
	if r.timer == nil {
		r.dead = make(map[int]bool)
		r.timer = time.AfterFunc(after, func() { endLeftBehind(b.begin(r), list()) })
	}
	r.dead[pid] = true
}

// begin ends the planning of a round, and returns the session leaders whose sessions it ends.
func (b *Orphans) begin(r *round) (dead map[int]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dead = r.dead
	r.dead, r.timer = nil, nil
	return dead
}

// endLeftBehind kills the orphans among ps whose session leader is dead.
func endLeftBehind(dead map[int]bool, ps []ProcStat) {
	me := os.Getpid()
	for _, p := range ps {
		if p.PPid == me && p.Pid != p.Session && dead[p.Session] {
			_ = unix.Kill(p.Pid, unix.SIGKILL)
		}
	}
}

// SweepJob ends what an ended job has left: orphans that the subreaper inherited and
// that carry the job's mark. The processes in known are left alone.
func (b *Orphans) SweepJob(job ids.Job, known map[int]bool) {
	mark := []byte(jobVar + "=" + job.String())
	me := os.Getpid()
	for _, p := range Processes() {
		if p.PPid != me || known[p.Pid] {
			continue
		}
		if marked(p.Pid, mark) {
			for _, pid := range append(DescendantsOf(p.Pid, Processes()), p.Pid) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// EndSession ends what a session has left whose daemon was killed. Session is the name of its folder.
func EndSession(session string) {
	mark := []byte(sessionVar + "=" + session)
	me := os.Getpid()
	for range 10 { // one that is killed may just have started another
		left := false
		for _, p := range Processes() {
			if p.Pid != me && p.State != 'Z' && marked(p.Pid, mark) {
				left = true
				_ = unix.Kill(p.Pid, unix.SIGKILL)
			}
		}
		if !left {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// marked reports whether the process has the variable, name and value, in its environment.
func marked(pid int, mark []byte) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	return hasVariable(mark, func() ([]byte, error) { return os.ReadFile(proc + "/environ") }, func() bool {
		stat, err := os.ReadFile(proc + "/stat")
		return err == nil && execIsUnderWay(stat)
	})
}

// execLooks is how often the environment of a process is read again, a millisecond apart, while an exec of the process is under way.
const execLooks = 50

// hasVariable looks for the variable in the environment that read returns. During an exec the old environment is gone and
// the kernel does not know yet where the new one lies, so that an empty one is read. An empty one counts only when no exec
// was under way before it was read.
func hasVariable(mark []byte, read func() ([]byte, error), execs func() bool) bool {
	env, err := read()
	for look, sure := 0, false; err == nil && len(env) == 0 && !sure && look < execLooks; look++ {
		if sure = !execs(); !sure {
			time.Sleep(time.Millisecond)
		}
		env, err = read()
	}
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) })
}

// execIsUnderWay reports whether a process has memory and no place of an environment yet. Stat is the text of
// /proc/PID/stat, whose fields 23 and 51 are the size of the memory and the end of the environment (proc_pid_stat(5)).
func execIsUnderWay(stat []byte) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the third one
	const size, environmentEnd = 23 - 3, 51 - 3
	return len(fields) > environmentEnd && string(fields[size]) != "0" && string(fields[environmentEnd]) == "0"
}

// Close ends the looks that are still to come.
func (b *Orphans) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, r := range []*round{&b.soon, &b.later} {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
}
