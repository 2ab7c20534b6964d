package daemon

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

// broom ends what dead workers leave behind: their process groups at once, and
// a little later, in one look for all of them, the members of their sessions
// that the subreaper inherited. That look is at this process's children, of
// which there are few; the kernel may leave one out when others end meanwhile,
// so some time later all processes are looked at.
type broom struct {
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

func newBroom() *broom { return &broom{} }

// remove deletes the socket of a process that is gone. It does not wait for the disk.
func (b *broom) remove(path string) {
	if path != "" {
		go os.Remove(path)
	}
}

// sweep ends what the dead session leader left.
func (b *broom) sweep(pid int) {
	if pid <= 1 {
		return
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plan(&b.soon, pid, sweepAfter, children)
	b.plan(&b.later, pid, againAfter, processes)
}

// plan adds a dead session leader to a round, which begins when the time is over; mu held.
func (b *broom) plan(r *round, pid int, after time.Duration, list func() []procStat) {
	if b.closed {
		return
	}
	if r.timer == nil {
		r.dead = make(map[int]bool)
		r.timer = time.AfterFunc(after, func() {
			b.mu.Lock()
			dead := r.dead
			r.dead, r.timer = nil, nil
			b.mu.Unlock()
			endLeftBehind(dead, list())
		})
	}
	r.dead[pid] = true
}

// endLeftBehind kills the orphans among ps whose session leader is dead.
func endLeftBehind(dead map[int]bool, ps []procStat) {
	me := os.Getpid()
	for _, p := range ps {
		if p.ppid == me && p.pid != p.session && dead[p.session] {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	}
}

// sweepJob ends what an ended job left: orphans that the subreaper inherited and
// that carry the job's mark. Known ones are not touched.
func (b *broom) sweepJob(job ids.Job, known map[int]bool) {
	mark := []byte(jobVar + "=" + job.String())
	me := os.Getpid()
	for _, p := range processes() {
		if p.ppid != me || known[p.pid] {
			continue
		}
		if marked(p.pid, mark) {
			for _, pid := range append(descendantsOf(p.pid, processes()), p.pid) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// endMarked ends what a session has left whose daemon was killed.
func endMarked(session string) {
	mark := []byte(sessionVar + "=" + session)
	me := os.Getpid()
	for range 10 { // one that is killed may just have started another
		left := false
		for _, p := range processes() {
			if p.pid != me && p.state != 'Z' && marked(p.pid, mark) {
				left = true
				_ = unix.Kill(p.pid, unix.SIGKILL)
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
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) })
}

func (b *broom) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, r := range []*round{&b.soon, &b.later} {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
}
