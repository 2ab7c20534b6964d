package transport

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The background poller looks after the sockets while no thread of the program
// does: it sends what has collected, reads what nobody waits for, and lets a
// worker act on a call that takes long. It must cost a computing task nothing.
// A goroutine that waits in a system call does cost something: Go's scheduler
// takes its place away and hands it on, at every message and at every timer, on
// the cores that compute. Therefore the background poller waits outside of Go
// where the program offers a thread for it, and enters Go only when there is
// something to do.

// Timings of the background poller.
const (
	napFor    = time.Millisecond       // whoever wants a turn waits at most this long
	quietFor  = 20 * time.Millisecond  // it stops when nobody has wanted it for so long
	busyFor   = 250 * time.Microsecond // between reads while messages come that nobody waits for
	watchFor  = 100 * time.Millisecond // how long it watches the sockets at a time
	followFor = 10 * time.Millisecond  // an event loop that waited so lately waits again soon
)

// What the background poller does until its next turn.
const (
	ModePark  = iota // wait until the bell rings
	ModeNap          // nap for Nap at a time, until Armed is set or Quiet has passed
	ModeWatch        // wait until a socket is readable, the bell rings, or Quiet has passed
	ModeEnd          // stop for ever: neither descriptor may be touched any more
	ModeRest         // wait until the bell rings, or Quiet has passed; only on a thread that is lent
)

// Pause is what comes between two turns. After the bell there is one more nap
// of a millisecond, unless Armed says ArmedNow; a thread that watches the sockets
// goes on to do so during that nap.
type Pause struct {
	Mode       int
	Nap, Quiet time.Duration
}

// What Background.Armed holds.
const (
	armedIdle = iota
	armedWanted
	// ArmedNow is set when the session ends.
	ArmedNow
)

// Background is the background poller of one session, as the program sees it
// that lends it a thread.
type Background struct {
	Epoll int     // readable when a socket is
	Bell  int     // an eventfd
	Armed *uint32 // not zero: a turn is wanted; it may be replaced before the first turn
	p     *Poller
	mode  int // what the thread does now; the mutex guards it
	timer *time.Timer
	gone  chan struct{}
}

// startBackground begins it, parked. The mutex need not be held.
func (p *Poller) startBackground() error {
	b := &Background{Epoll: p.epoll, Armed: new(uint32), p: p, gone: make(chan struct{})}
	if p.o.Lend != nil {
		bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return err
		}
		if b.Bell = bell; p.o.Lend(b) {
			p.Opened(bell)
			p.background = b
			return nil
		}
		unix.Close(bell)
	}
	b.Bell = p.bell // which is among what it watches
	b.timer = time.AfterFunc(time.Hour, b.run)
	b.timer.Stop()
	p.background = b
	return nil
}

// Arm makes sure of a turn within a millisecond.
func (p *Poller) Arm() {
	b := p.background
	if b == nil || p.ended || atomic.LoadUint32(b.Armed) != armedIdle {
		return
	}
	atomic.StoreUint32(b.Armed, armedWanted)
	b.wake(napFor)
}

// ReadSoon makes sure that somebody reads the answer to what was just sent.
func (k *Conn) ReadSoon() {
	if p := k.p; p.leader == nil {
		p.ArmReader()
	}
}

// ArmReader makes sure that somebody reads; a background poller that watches the
// sockets does.
func (p *Poller) ArmReader() {
	if b := p.background; b != nil && b.mode != ModeWatch {
		p.Arm()
	}
}

// ArmLater makes sure of a turn before a call that begins now is a long one, at
// once when something is to be sent. A nap is followed by a turn anyway, and a
// watch ends when there is something to read; behind says that more calls wait.
func (p *Poller) ArmLater(behind bool) {
	if b := p.background; b != nil && (b.mode == ModePark || b.mode == ModeWatch && behind || len(p.unsent) > 0) {
		p.Arm()
	}
}

// LoopWaits notes that an event loop waits for an answer, and will wait for
// others soon: somebody has to read meanwhile.
func (p *Poller) LoopWaits() {
	p.loopedAt = time.Now()
	p.ArmReader()
}

// wake ends a park or a watch.
func (b *Background) wake(after time.Duration) {
	was := b.mode
	b.mode = ModeNap
	switch {
	case was == ModeNap || was == ModeEnd: // it looks at Armed
	case was == ModePark && b.timer != nil:
		b.timer.Reset(after)
	default:
		one := [8]byte{1}
		_, _ = rawWrite(b.Bell, one[:])
	}
}

// StopBackground ends the background poller; the sockets may be closed then. The
// mutex must not be held.
func (p *Poller) StopBackground() {
	p.mu.Lock()
	b := p.background
	p.background = nil
	if b != nil {
		atomic.StoreUint32(b.Armed, ArmedNow)
		b.wake(0)
	}
	p.mu.Unlock()
	if b == nil {
		return
	}
	<-b.gone
	if b.timer == nil {
		p.Closing(b.Bell)
		unix.Close(b.Bell)
	}
}

// Turn does what there is to do and says when it wants to be called again. The
// mutex must not be held.
func (b *Background) Turn() Pause {
	p := b.p
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.turn(b)
	if b.mode = next.Mode; next.Mode == ModeEnd {
		close(b.gone)
	}
	return next
}

func (p *Poller) turn(b *Background) Pause {
	if atomic.LoadUint32(b.Armed) == ArmedNow {
		return Pause{Mode: ModeEnd}
	}
	wanted := atomic.SwapUint32(b.Armed, armedIdle) != armedIdle
	if p.ended {
		return Pause{Mode: ModePark}
	}
	p.host.BeforePoll()
	p.SendAll()
	looped := time.Since(p.loopedAt) < followFor
	if p.leader != nil || !p.expecting() && !looped {
		if wanted {
			return p.napOn()
		}
		return Pause{Mode: ModePark}
	}
	if left := napFor - time.Since(p.leftAt); left > 0 && !looped {
		return Pause{Mode: ModeNap, Nap: left, Quiet: left}
	}
	if len(p.ending) == 0 && len(p.unsent) == 0 {
		switch left, rests := p.host.Undisturbed(); { // each look takes time from what computes
		case left > 0 && rests && b.timer == nil:
			return Pause{Mode: ModeRest, Quiet: left}
		case left > 0:
			return Pause{Mode: ModeNap, Nap: max(left/2, napFor), Quiet: max(left, napFor)}
		}
	}
	p.leader = p.nobody
	found := p.poll(0)
	p.leader = nil
	p.left.Broadcast()
	p.promote()
	switch {
	case p.leader != nil || len(p.followers) > 0:
		return p.napOn()
	case found && !looped:
		return Pause{Mode: ModeNap, Nap: busyFor, Quiet: busyFor}
	case looped:
		return Pause{Mode: ModeWatch, Quiet: followFor}
	case !p.expecting():
		return p.napOn()
	}
	return Pause{Mode: ModeWatch, Quiet: p.host.LookAgain(watchFor)}
}

// napOn is the pause of a background poller that is not needed now and may soon be.
func (p *Poller) napOn() Pause {
	quiet := p.o.Quiet
	if quiet == 0 {
		quiet = quietFor
	}
	return Pause{Mode: ModeNap, Nap: napFor, Quiet: quiet}
}

// run is the background poller where nobody lends a thread.
func (b *Background) run() {
	for {
		p := b.Turn()
		switch p.Mode {
		case ModeEnd, ModePark:
			return
		case ModeNap:
			b.Nap(p)
		case ModeWatch:
			fds := []unix.PollFd{{Fd: int32(b.Epoll), Events: unix.POLLIN}}
			_, _ = unix.Poll(fds, int(p.Quiet/time.Millisecond)) // an error is a turn too early
		}
	}
}

// Nap naps as a Pause of ModeNap says. The mutex must not be held.
func (b *Background) Nap(p Pause) {
	for until := time.Now().Add(p.Quiet); ; {
		time.Sleep(p.Nap)
		if atomic.LoadUint32(b.Armed) != armedIdle || !time.Now().Before(until) {
			return
		}
	}
}

// rawWrite writes to what never blocks, without telling Go's scheduler.
func rawWrite(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
