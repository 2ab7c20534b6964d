package transport

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Falling asleep and being woken takes longer than most calls do, above all on virtual
// machines, where an idle processor is given back to the host. A wait that may soon be
// over therefore begins with looking: the thread asks the sockets again and again before
// it sleeps. How long it looks depends on what waking costs on this machine, see
// wakeup.go. A look that finds nothing is followed by waits that do not look, the more of
// them the more looks in a row were vain: looking takes time from others who compute.

const (
	spinAtLeast = 50 * time.Microsecond  // enough where waking is cheap: whoever sleeps has woken and answered by then
	spinAtMost  = 500 * time.Microsecond // however dear waking is
	spinMisses  = 6                      // after so many vain looks in a row they get no rarer
	spinFirst   = 4                      // waits before the first look: many processes never have more
	spinCalls   = 1                      // calls under way; with more of them the next answer is near anyway
)

// cpus is how many this process may use. With one, nobody could answer while we look.
var cpus = runtime.NumCPU()

// spinner decides which waits begin with looking, and for how long they look. It reads no clock.
type spinner struct {
	skips  int // waits that are to sleep at once
	misses int // looks in a row that were vain
	wakeup wakeup
}

// wanted reports whether this wait is to look.
func (s *spinner) wanted() bool {
	if s.skips > 0 {
		s.skips--
		return false
	}
	return true
}

func (s *spinner) found() { s.misses = 0 }

// missed notes a look that was vain for so long, and makes the next ones rarer. After
// several of them long looks are rarer than short ones in proportion, so that they take
// no more time in all. A single one costs one wait, however long it was: each wait that
// sleeps pays for a wake-up.
func (s *spinner) missed(looked time.Duration) {
	s.misses = min(s.misses+1, spinMisses)
	s.skips = (1<<s.misses - 1) * min(max(int(looked/spinAtLeast), 1), 1<<(s.misses-1))
}

// length is how long a look lasts when it finds nothing.
func (s *spinner) length() time.Duration {
	return min(max(s.wakeup.cost(), spinAtLeast), spinAtMost)
}

// sleep is how the leader waits for the sockets.
type sleep struct {
	timeoutMs int
	look      time.Duration // it begins with looking for so long; 0: it sleeps at once
	measures  bool          // whether it really sleeps is to be known
	long      bool          // it did
	signals   bool          // the thread has signal handlers to run
}

// plan decides how the leader waits.
func (p *Poller) plan(timeoutMs int) sleep {
	s := sleep{timeoutMs: timeoutMs, signals: p.leader != nil && p.leader.Signals}
	if timeoutMs != 0 {
		s.measures = p.lone.conn != nil
		if cpus > 1 && p.host.Unanswered() <= spinCalls && p.spinner.wanted() {
			s.look = p.spinner.length()
		}
	}
	return s
}

// sleep waits and returns how many events there are; the leader calls it,
// without the mutex.
func (p *Poller) sleep(s *sleep) (n int, err error) {
	if s.look > 0 {
		// A signal that comes during a look would not end the sleep after it. A thread
		// that has signal handlers to run therefore does not sleep now: see slept.
		if n = p.look(s.look); n > 0 || s.signals {
			return n, nil
		}
	}
	if !s.measures {
		return unix.EpollWait(p.epoll, p.events[:], s.timeoutMs)
	}
	began := time.Now()
	n, err = unix.EpollWait(p.epoll, p.events[:], s.timeoutMs)
	s.long = time.Since(began) > sleptAtLeast
	return n, err
}

// slept notes how the wait went.
func (p *Poller) slept(s *sleep, n int) {
	if s.long {
		p.lone.slept = true
	}
	if s.signals && s.look > 0 && n == 0 && p.leader != nil {
		p.leader.EndEarly() // the thread comes back at once, and its next wait sleeps
		p.Finish(p.leader)
	}
}

// look returns how many events there are, 0 when none came within the length of
// a look; the leader calls it, without the mutex. A look goes on for longer than
// spinAtLeast only while there are processors for all threads that run: else the
// process that is to answer may be waiting for ours, or one that computes would
// lose more than we win.
func (p *Poller) look(length time.Duration) int {
	began := time.Now()
	looked, asked := time.Duration(0), false
	for looked < length {
		if n := eventsNow(p.epoll, p.events[:]); n > 0 {
			p.spinner.found()
			return n
		}
		if looked = time.Since(began); looked >= spinAtLeast && !asked {
			if asked = true; crowded() {
				break
			}
		}
	}
	p.spinner.missed(looked)
	return 0
}

// eventsNow is EpollWait that never waits, and therefore need not tell Go's scheduler.
func eventsNow(epoll int, events []unix.EpollEvent) int {
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if e != 0 {
		return 0 // the wait that follows tells why
	}
	return int(n)
}
