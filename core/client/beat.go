package client

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The beat looks after the sockets while no thread of the program does: it
// sends what has collected, reads what nobody waits for, and has a long task's
// followers sent back. It must cost a computing task nothing. A goroutine that
// waits in a system call does: the scheduler takes its place away and hands it
// on, at every message and at every timer, on the cores that compute. The
// beat therefore waits outside of Go where the program offers a thread for it,
// and comes in only when there is something to do.

// Timings of the beat.
const (
	beatNap    = time.Millisecond       // somebody who wants it waits so long at most
	beatQuiet  = 20 * time.Millisecond  // nobody wanted it for so long: it stops
	beatBusy   = 250 * time.Microsecond // between reads while messages come that nobody waits for
	beatWatch  = 100 * time.Millisecond // how long it watches the sockets at a time
	beatFollow = 10 * time.Millisecond  // an event loop that waited so lately waits again soon
)

// What the beat does until its next turn.
const (
	BeatParks   = iota // until the bell rings
	BeatNaps           // naps of Nap, until one ends with Armed set or Quiet has passed
	BeatWatches        // until a socket is readable, the bell rings, or Quiet has passed
	BeatEnds           // for ever: it must touch neither descriptor any more
	BeatRests          // until the bell rings, or Quiet has passed; only on a thread that is lent
)

// Pause is what comes between two turns of the beat. After the bell there is
// one more nap of beatNap, unless Armed says BeatNow; who watches the sockets
// goes on to during that.
type Pause struct {
	Mode       int
	Nap, Quiet time.Duration
}

// What Armed holds.
const (
	beatIdle = iota
	beatWanted
	// BeatNow is a session that ends.
	BeatNow
)

// Beat is the background of one session, for who lends it a thread.
type Beat struct {
	Epoll int     // readable when a socket is
	Bell  int     // an eventfd
	Armed *uint32 // not zero: a turn is wanted; may be replaced before the first turn
	c     *Client
	mode  int // what the thread does now; under mu
	timer *time.Timer
	gone  chan struct{}
}

// startBeat begins it, parked.
func (c *Client) startBeat() error {
	b := &Beat{Epoll: c.epoll, Armed: new(uint32), c: c, gone: make(chan struct{})}
	if c.opts.Beat != nil {
		bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return err
		}
		if b.Bell = bell; c.opts.Beat(b) {
			c.opened(bell)
			c.beat = b
			return nil
		}
		unix.Close(bell)
	}
	b.Bell = c.wakeFD // which is among what it watches
	b.timer = time.AfterFunc(time.Hour, b.run)
	b.timer.Stop()
	c.beat = b
	return nil
}

// arm makes sure of a turn within a millisecond; mu held.
func (c *Client) arm() {
	b := c.beat
	if b == nil || c.closed || atomic.LoadUint32(b.Armed) != beatIdle {
		return
	}
	atomic.StoreUint32(b.Armed, beatWanted)
	b.wake(beatNap)
}

// armReader makes sure that somebody reads; who watches the sockets does; mu held.
func (c *Client) armReader() {
	if b := c.beat; b != nil && b.mode != BeatWatches {
		c.arm()
	}
}

// armLater makes sure of a turn before a task that begins now is long, at once
// when something is to be sent. A nap is followed by one; a watch ends when
// there is something to read; mu held.
func (c *Client) armLater() {
	if b := c.beat; b != nil && (b.mode == BeatParks || b.mode == BeatWatches && len(c.exec.queue) > 0 || len(c.dirty) > 0) {
		c.arm()
	}
}

// wake ends a park or a watch; mu held.
func (b *Beat) wake(after time.Duration) {
	was := b.mode
	b.mode = BeatNaps
	switch {
	case was == BeatNaps || was == BeatEnds: // it looks at Armed
	case was == BeatParks && b.timer != nil:
		b.timer.Reset(after)
	default:
		one := [8]byte{1}
		_, _ = rawWrite(b.Bell, one[:])
	}
}

// stopBeat ends it; the sockets may be closed then. Not under mu.
func (c *Client) stopBeat() {
	c.mu.Lock()
	b := c.beat
	c.beat = nil
	if b != nil {
		atomic.StoreUint32(b.Armed, BeatNow)
		b.wake(0)
	}
	c.mu.Unlock()
	if b == nil {
		return
	}
	<-b.gone
	if b.timer == nil {
		c.closing(b.Bell)
		unix.Close(b.Bell)
	}
}

// Turn does what is to do and says when it wants to be called again.
func (b *Beat) Turn() Pause {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.turn(b)
	if b.mode = p.Mode; p.Mode == BeatEnds {
		close(b.gone)
	}
	return p
}

func (c *Client) turn(b *Beat) Pause {
	if atomic.LoadUint32(b.Armed) == BeatNow {
		return Pause{Mode: BeatEnds}
	}
	wanted := atomic.SwapUint32(b.Armed, beatIdle) != beatIdle
	if c.closed {
		return Pause{Mode: BeatParks}
	}
	c.takeDrops()
	c.flushDirty()
	looped := time.Since(c.looped) < beatFollow
	if c.leader != nil || !c.outstanding() && !looped {
		if wanted {
			return c.drowse()
		}
		return Pause{Mode: BeatParks}
	}
	if left := beatNap - time.Since(c.leftAt); left > 0 && !looped {
		return Pause{Mode: BeatNaps, Nap: left, Quiet: left}
	}
	switch left := c.undisturbed(); { // each look takes time from what computes
	case left > bounceAfter/2 && c.exec.answersAtOnce() && b.timer == nil:
		return Pause{Mode: BeatRests, Quiet: left}
	case left > 0:
		return Pause{Mode: BeatNaps, Nap: max(left/2, beatNap), Quiet: max(left, beatNap)}
	}
	c.leader = c.background
	found := c.poll(0)
	c.leader = nil
	c.promote()
	switch {
	case c.leader != nil || len(c.followers) > 0:
		return c.drowse()
	case found && !looped:
		return Pause{Mode: BeatNaps, Nap: beatBusy, Quiet: beatBusy}
	case looped:
		return Pause{Mode: BeatWatches, Quiet: beatFollow}
	case !c.outstanding():
		return c.drowse()
	}
	watch := beatWatch
	if c.exec != nil {
		watch = min(watch, c.exec.overdue()+beatNap)
	}
	return Pause{Mode: BeatWatches, Quiet: watch}
}

// drowse is the pause of a beat that is not needed now and may soon be. A
// worker's next task counts on a turn before it is long.
func (c *Client) drowse() Pause {
	if c.exec != nil {
		return Pause{Mode: BeatNaps, Nap: beatNap, Quiet: bounceAfter}
	}
	return Pause{Mode: BeatNaps, Nap: beatNap, Quiet: beatQuiet}
}

// undisturbed is for how long a worker's sockets need not be looked at, because
// its thread computes a task that may soon be over and comes back to them; mu held.
func (c *Client) undisturbed() time.Duration {
	e := c.exec
	if e == nil || e.busy == 0 || e.unread || c.inflight > 0 || len(c.doomed) > 0 || len(c.dirty) > 0 {
		return 0
	}
	return e.patience() - time.Since(e.started)
}

// run is the beat where nobody lends a thread.
func (b *Beat) run() {
	for {
		p := b.Turn()
		switch p.Mode {
		case BeatEnds, BeatParks:
			return
		case BeatNaps:
			b.nap(p)
		case BeatWatches:
			fds := []unix.PollFd{{Fd: int32(b.Epoll), Events: unix.POLLIN}}
			_, _ = unix.Poll(fds, int(p.Quiet/time.Millisecond)) // an error is a turn too early
		}
	}
}

func (b *Beat) nap(p Pause) {
	for until := time.Now().Add(p.Quiet); ; {
		time.Sleep(p.Nap)
		if atomic.LoadUint32(b.Armed) != beatIdle || !time.Now().Before(until) {
			return
		}
	}
}

// rawWrite writes to what never blocks, without telling the scheduler.
func rawWrite(fd int, p []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}
