package pressure

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// MemoryWatch ends workers before the kernel has to end a process of its own choice. It
// also tells which deaths of workers were the kernel's doing.
type MemoryWatch struct {
	c      MemoryConfig
	warned time.Time // when the log was told last that nobody can be ended; only Run uses it

	mu    sync.Mutex // guards what follows
	kills uint64     // the kernel's kills that are known
	rose  time.Time  // when the last new kill was noticed
}

// MemoryConfig is what a MemoryWatch is made of.
type MemoryConfig struct {
	Options Options
	Node    string // what a report calls this node
	Figures Figures
	Workers Workers
	Log     *slog.Logger
	Stop    <-chan struct{} // ends Run when it is closed
}

// The times of the memory watch.
const (
	// goneWait is how long the watch waits for the process of a worker that it has ended.
	goneWait = 5 * time.Second
	// reliefLook is the time between two looks whether the memory of that process is back.
	reliefLook = 5 * time.Millisecond
	// warnAgain is the shortest time between two warnings that nobody can be ended.
	warnAgain = time.Minute
	// recently is how long a kill by the kernel explains the death of a worker.
	recently = 2 * time.Second
)

// NewMemoryWatch returns a watch that knows how many processes the kernel has ended so far.
func NewMemoryWatch(c MemoryConfig) *MemoryWatch {
	return &MemoryWatch{c: c, kills: c.Figures.Kills()}
}

// Run looks at the memory again and again until the watch is stopped. It returns at once
// when the options say that nobody is to look.
func (m *MemoryWatch) Run() {
	if m.c.Options.Every <= 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var counted time.Time
	for {
		select {
		case <-timer.C:
		case <-m.c.Stop:
			return
		}
		if now := time.Now(); now.Sub(counted) > recently {
			counted = now
			m.killedRecently()
		}
		timer.Reset(m.look())
	}
}

// look ends a worker if memory is short, and returns when to look again.
func (m *MemoryWatch) look() time.Duration {
	level, left, ok := m.tightest()
	if ok && left < 0 {
		m.relieve(level)
		_, left, ok = m.tightest()
	}
	if !ok {
		return m.c.Options.Every
	}
	return m.c.Options.Next(left)
}

// tightest looks at the machine, at the cgroups and at the session's own limit. It
// returns the one that is the nearest to its bar and how many bytes are left until there.
func (m *MemoryWatch) tightest() (machine.Level, int64, bool) {
	o := m.c.Options
	levels := m.c.Figures.Levels()
	if o.Limit > 0 {
		l := machine.Level{Name: "the session", Room: o.Limit}
		pids := workers.DescendantsOf(os.Getpid(), m.c.Figures.Processes())
		for _, exact := range []bool{false, true} { // the exact number takes long to read
			l.Anon = 0
			for _, pid := range pids {
				l.Anon += m.c.Figures.Anonymous(pid, exact)
			}
			if l.Anon <= o.Bar(l.Room) {
				break
			}
		}
		levels = append(levels, l)
	}
	return o.Tightest(levels)
}

// killedRecently counts the processes that the kernel has ended, and reports whether there
// was a new one within the time that recently says.
func (m *MemoryWatch) killedRecently() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.c.Figures.Kills(); n > m.kills {
		m.kills, m.rose = n, time.Now()
	}
	return time.Since(m.rose) <= recently
}

// KernelKill explains the death of a worker that nobody in this session has killed. The
// kernel has done it when it has just ended processes because memory was short; else ok is
// false. describe says what ran in the worker and how its process ended.
func (m *MemoryWatch) KernelKill(describe func() (what, status string)) (why Ending, ok bool) {
	if !m.killedRecently() {
		return why, false
	}
	what, status := describe()
	return Ending{Code: fault.OutOfMemory, Text: KernelReport(m.c.Node, what, status, newUsage(m.c.Figures).largest())}, true
}
