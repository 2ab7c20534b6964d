package client

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// To sleep and be woken takes longer than most calls do, above all on virtual machines,
// where a processor without work is given back to the host. So a wait that may soon be
// over begins with looking, without sleeping. One that was not over soon is the last to
// do so for a while, longer each time: looking takes time from who computes.

const (
	spinFor    = 50 * time.Microsecond // somebody who sleeps has woken and answered a short call by then
	spinAtMost = 6                     // after so many vain looks in a row they get no rarer: one wait in 64
	spinFirst  = 4                     // waits before the first look: many processes never have more
	spinCalls  = 1                     // calls under way; of many one looks at the answers when some have come
)

// severalCPUs: with one, nobody could answer while we look.
var severalCPUs = runtime.NumCPU() > 1

// spinner decides which waits begin with looking.
type spinner struct {
	skips  int // waits that are to sleep at once
	misses int // looks in a row that were vain
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

func (s *spinner) missed() {
	s.misses = min(s.misses+1, spinAtMost)
	s.skips = 1<<s.misses - 1
}

// spins reports whether the leader's wait is to begin with looking. An event loop's does not: a
// signal that comes meanwhile would not end the sleep after it; mu held.
func (c *Client) spins(timeoutMs int) bool {
	return timeoutMs != 0 && severalCPUs && c.inflight <= spinCalls && c.leader != c.loop.waiter && c.spinner.wanted()
}

// look returns how many events there are, after spinFor none; the leader's, mu not held.
func (c *Client) look() int {
	for began := time.Now(); time.Since(began) < spinFor; {
		if n := eventsNow(c.epoll, c.events[:]); n > 0 {
			c.spinner.found()
			return n
		}
	}
	c.spinner.missed()
	return 0
}

// eventsNow is EpollWait that never waits, and therefore need not tell Go's scheduler.
func eventsNow(epoll int, events []unix.EpollEvent) int {
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if e != 0 {
		return 0 // who waits afterwards learns why
	}
	return int(n)
}
