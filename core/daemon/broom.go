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
// a little later, in one look at /proc for all of them, the members of their
// sessions that the subreaper inherited.
type broom struct {
	mu     sync.Mutex
	dead   map[int]bool // session leaders
	timer  *time.Timer
	closed bool
}

const sweepAfter = 20 * time.Millisecond

func newBroom() *broom { return &broom{dead: make(map[int]bool)} }

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
	if b.closed {
		return
	}
	b.dead[pid] = true
	if b.timer == nil {
		b.timer = time.AfterFunc(sweepAfter, b.run)
	}
}

func (b *broom) run() {
	b.mu.Lock()
	dead := b.dead
	b.dead, b.timer = make(map[int]bool), nil
	b.mu.Unlock()
	me := os.Getpid()
	for _, p := range processes() {
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
	if b.timer != nil {
		b.timer.Stop()
	}
}
