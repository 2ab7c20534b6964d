package transport

import (
	"time"

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

// Timings of the background poller; see napFor, too.
const (
	quietFor  = 20 * time.Millisecond  // it stops when nobody has wanted it for so long
	busyFor   = 250 * time.Microsecond // between reads while messages come that nobody waits for
	watchFor  = 100 * time.Millisecond // how long it watches the sockets at a time
	followFor = 10 * time.Millisecond  // an event loop that waited so lately waits again soon
)

// Pause says what the background poller does between two turns. After the bell it naps for
// one more millisecond, unless Armed holds ArmedNow. A thread that watches the sockets goes
// on watching them during that nap.
type Pause struct {
	Mode       int
	Nap, Quiet time.Duration
}

// Background is the background poller of one session, as seen by the program that lends
// it a thread.
type Background struct {
	Alarm
	Epoll int // readable when a socket is
	p     *Poller
	quiet time.Duration // see Options
}

// ArmLater makes sure that the background poller has a turn before a call that begins now
// has run for long; if bytes wait to be sent, the turn comes at once. A nap is followed by a
// turn anyway, and a watch ends when there is something to read. behind says that more calls
// wait.
func (p *Poller) ArmLater(behind bool) {
	if a := p.alarm; a != nil && (a.mode == ModeWait || a.mode == ModeWatch && behind || len(p.unsent) > 0) {
		p.Arm()
	}
}

// LoopWaits notes that an event loop waits for an answer, and will wait for other answers
// soon, so another thread has to read the sockets meanwhile.
func (p *Poller) LoopWaits() {
	p.loopedAt = time.Now()
	p.ArmReader()
}

// Turn reads and sends what waits, and returns when it has to be called again. The
// mutex must not be held.
func (b *Background) Turn() Pause {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	next := b.turn()
	if b.mode = next.Mode; next.Mode == ModeEnd {
		close(b.gone)
	}
	return next
}

func (b *Background) turn() Pause {
	p := b.p
	if b.ending() {
		return Pause{Mode: ModeEnd}
	}
	wanted := b.take()
	if p.ended {
		return Pause{Mode: ModeWait}
	}
	p.host.BeforePoll()
	p.SendAll()
	looped := time.Since(p.loopedAt) < followFor
	if p.leader != nil || !p.expecting() && !looped {
		if wanted {
			return b.napOn()
		}
		return Pause{Mode: ModeWait}
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
	found := p.pollForNobody()
	switch {
	case p.leader != nil || len(p.followers) > 0:
		return b.napOn()
	case found && !looped:
		return Pause{Mode: ModeNap, Nap: busyFor, Quiet: busyFor}
	case looped:
		return Pause{Mode: ModeWatch, Quiet: followFor}
	case !p.expecting():
		return b.napOn()
	}
	return Pause{Mode: ModeWatch, Quiet: p.host.LookAgain(watchFor)}
}

// pollForNobody handles what the sockets have now, while no thread waits.
func (p *Poller) pollForNobody() (found bool) {
	p.leader = p.nobody
	defer p.promote()
	defer p.nobodyLeads()
	return p.poll(0)
}

// napOn is the pause of a background poller that is not needed now and may be needed soon.
func (b *Background) napOn() Pause {
	return Pause{Mode: ModeNap, Nap: napFor, Quiet: b.quiet}
}

// run is the background poller where nobody lends a thread.
func (b *Background) run() {
	for {
		p := b.Turn()
		switch p.Mode {
		case ModeEnd, ModeWait:
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
		if b.wanted() || !time.Now().Before(until) {
			return
		}
	}
}
