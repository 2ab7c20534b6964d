package transport

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the background poller does until its next turn.
const (
	ModeWait  = iota // wait until the bell rings
	ModeNap          // nap for Nap at a time, until Armed is set or Quiet has passed
	ModeWatch        // wait until a socket is readable, the bell rings, or Quiet has passed
	ModeEnd          // stop for ever: neither descriptor may be touched any more
	ModeRest         // wait until the bell rings, or Quiet has passed; only on a thread that is lent
)

// What Alarm.Armed holds.
const (
	armedIdle = iota
	armedWanted
	// ArmedNow is set when the session ends.
	ArmedNow
)

// napFor is the longest time that a caller waits for a turn of the background poller.
const napFor = time.Millisecond

// Alarm wakes the background poller of a session. The session's mutex guards it,
// except for Armed.
type Alarm struct {
	Bell  int     // an eventfd
	Armed *uint32 // not zero: a turn is wanted; it may be replaced before the first turn

	mode  int           // what the background poller does now
	timer *time.Timer   // starts its goroutine; nil where the program lends it a thread
	gone  chan struct{} // closed when it has ended
}

// wanted reports whether a turn is wanted. The mutex need not be held.
func (a *Alarm) wanted() bool { return atomic.LoadUint32(a.Armed) != armedIdle }

// ending reports whether the background poller is to end. The mutex need not be held.
func (a *Alarm) ending() bool { return atomic.LoadUint32(a.Armed) == ArmedNow }

// take reports whether a turn is wanted, and notes that it has come.
func (a *Alarm) take() bool { return atomic.SwapUint32(a.Armed, armedIdle) != armedIdle }

// arm makes sure of a turn within a millisecond.
func (a *Alarm) arm() {
	if !a.wanted() {
		atomic.StoreUint32(a.Armed, armedWanted)
		a.wake(napFor)
	}
}

// end makes the background poller end.
func (a *Alarm) end() {
	atomic.StoreUint32(a.Armed, ArmedNow)
	a.wake(0)
}

// wake ends the wait of every mode but a nap, which ends by itself.
func (a *Alarm) wake(after time.Duration) {
	was := a.mode
	a.mode = ModeNap
	switch {
	case was == ModeNap || was == ModeEnd: // it looks at Armed
	case was == ModeWait && a.timer != nil:
		a.timer.Reset(after)
	default:
		one := [8]byte{1}
		_, _ = rawWrite(a.Bell, one[:])
	}
}

// rawWrite writes to a descriptor that never blocks, without telling Go's scheduler.
func rawWrite(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
