package transport

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleeper is how the leader sleeps until a socket has something.
type sleeper struct {
	epoll   int
	events  [64]unix.EpollEvent
	spinner spinner
	lone    lone
}

// sleep is how the leader waits for the sockets.
type sleep struct {
	timeoutMs int
	look      time.Duration // it begins with looking for so long; 0: it sleeps at once
	measures  bool          // whether it really sleeps is to be known
	long      bool          // it did
	signals   bool          // the thread has signal handlers to run
}

// plan decides how the leader waits. MayLook says that the wait may begin with
// looking, and signals that the thread has signal handlers to run.
func (s *sleeper) plan(timeoutMs int, mayLook, signals bool) sleep {
	x := sleep{timeoutMs: timeoutMs, signals: signals}
	if timeoutMs != 0 {
		x.measures = s.lone.measured
		if mayLook && s.spinner.wanted() {
			x.look = s.spinner.length()
		}
	}
	return x
}

// sleep waits and returns how many events there are; the leader calls it,
// without the mutex.
func (s *sleeper) sleep(x *sleep) (n int, err error) {
	if x.look > 0 {
		// A signal that comes during a look would not end the sleep after it. A thread
		// that has signal handlers to run therefore does not sleep now: see slept.
		if n = s.look(x.look); n > 0 || x.signals {
			return n, nil
		}
	}
	if !x.measures {
		return unix.EpollWait(s.epoll, s.events[:], x.timeoutMs)
	}
	began := time.Now()
	n, err = unix.EpollWait(s.epoll, s.events[:], x.timeoutMs)
	x.long = time.Since(began) > sleptAtLeast
	return n, err
}

// slept notes the result of a wait that brought n events. Early means that the thread has
// signal handlers to run and has not slept, so its wait must return at once. Its next wait
// sleeps.
func (s *sleeper) slept(x *sleep, n int) (early bool) {
	if x.long {
		s.lone.slept = true
	}
	return x.signals && x.look > 0 && n == 0
}

// look returns how many events there are, 0 when none came within the length of
// a look. The leader calls it without the mutex. A look lasts longer than
// spinAtLeast only while there are processors for all running threads. Otherwise the
// process that has to answer may wait for our processor, or a computing process would
// lose more time than we gain.
func (s *sleeper) look(length time.Duration) int {
	began := time.Now()
	looked, asked := time.Duration(0), false
	for looked < length {
		if n := eventsNow(s.epoll, s.events[:]); n > 0 {
			s.spinner.found()
			return n
		}
		if looked = time.Since(began); looked >= spinAtLeast && !asked {
			if asked = true; crowded() {
				break
			}
		}
	}
	s.spinner.missed(looked)
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
