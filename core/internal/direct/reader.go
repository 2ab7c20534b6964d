package direct

import (
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// When a reader has a thread of its own.
const (
	busyWaits  = 8                     // so many waits in a row came soon after one another
	busyGap    = 2 * time.Millisecond  // that soon
	quietTime  = 50 * time.Millisecond // after so long without a byte it has none
	muchData   = 4 << 10               // bytes of one read
	fullReads  = 4                     // so many reads in a row found something at once
	againWaits = 64                    // waits in place of busyWaits for a reader that had a thread, and read much
	maxThreads = 64                    // of a process
	yieldEvery = 8                     // waits after which the goroutine lets others run, so that the runtime does not take it for stuck
)

// threads is how many readers of this process have a thread.
var threads atomic.Int32

func takeThread() bool {
	if threads.Add(1) <= maxThreads {
		return true
	}
	threads.Add(-1)
	return false
}

func giveThread() { threads.Add(-1) }

// reader is what the reader of a Conn knows.
type reader struct {
	short  int       // waits in a row that came soon after one another, and gave little; negative: so many do not count
	waited time.Time // the end of the last wait
	full   int       // reads in a row, in a thread, that found something at once
	waits  int       // in poll
	try    attempt
}

// Read implements io.Reader.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, err := c.receive(b)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, c.ends()
		case err != unix.EAGAIN:
			return 0, err
		}
		c.toPoller()
	}
}

// receive waits until something comes. EAGAIN: nothing has come for quietTime.
func (c *Conn) receive(b []byte) (int, error) {
	raw, own, err := c.enter()
	switch {
	case err != nil:
		return 0, err
	case raw == nil:
		return c.receiveFrom(own, b)
	}
	try := &c.reader.try
	*try = attempt{b: b, call: try.call}
	if try.call == nil {
		try.call = try.receive
	}
	err = raw.Read(try.call)
	n, bad, waited := try.n, try.err, try.waited
	try.b = nil
	if err == nil && bad != nil {
		err = os.NewSyscallError("recv", bad)
	}
	if waited && n > 0 && c.reader.waitedFor(n) {
		c.toThread()
	}
	return n, err
}

// attempt is a call by Go's poller. It is kept, so that a read makes no garbage.
type attempt struct {
	b      []byte
	n      int
	err    error
	waited bool
	call   func(fd uintptr) bool
}

func (a *attempt) receive(fd uintptr) bool {
	a.n, a.err = receive(int(fd), a.b)
	a.waited = a.waited || a.err == unix.EAGAIN
	return a.err != unix.EAGAIN
}

// receiveFrom is receive from a descriptor of our own, which it leaves.
func (c *Conn) receiveFrom(fd int, b []byte) (int, error) {
	n, waited, err := c.receiveNext(fd, b)
	if r := &c.reader; n > 0 && r.hasMuch(n, waited) {
		r.short = busyWaits - againWaits
		c.toPoller()
	}
	return n, err
}

func (c *Conn) receiveNext(fd int, b []byte) (n int, waited bool, err error) {
	defer c.leave()
	for {
		n, err = receive(fd, b)
		if err != unix.EAGAIN {
			return n, waited, os.NewSyscallError("recv", err)
		}
		waited = true
		if c.reader.waits++; c.reader.waits%yieldEvery == 0 {
			runtime.Gosched()
		}
		if err = waits(fd, unix.POLLIN); err != nil {
			return 0, true, err
		}
	}
}

func receive(fd int, b []byte) (int, error) {
	for {
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// waitedFor notes a wait that gave so many bytes. It reports whether the reader should get a thread.
func (r *reader) waitedFor(n int) bool {
	now := time.Now()
	soon := now.Sub(r.waited) < busyGap && n < muchData
	r.waited = now
	if r.short++; !soon {
		r.short = min(r.short, 0)
	}
	return r.short >= busyWaits
}

// hasMuch notes a read in a thread. It reports whether more comes than one message after the other.
func (r *reader) hasMuch(n int, waited bool) bool {
	if r.full++; waited {
		r.full = 0
	}
	return n >= muchData || r.full >= fullReads
}

// toThread gives the reader a thread, unless that cannot be done now.
func (c *Conn) toThread() {
	if !takeThread() {
		return
	}
	if !c.ownDescriptor() {
		giveThread()
	}
}

// ownDescriptor takes the socket away from Go's poller. It reports whether it has.
func (c *Conn) ownDescriptor() bool {
	if !c.writer.TryLock() {
		return false
	}
	defer c.writer.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.settled {
		return false
	}
	fd, err := duplicate(c.raw)
	if err != nil {
		return false
	}
	_ = c.polled.Close() // the socket stays open with its other descriptor
	c.polled, c.raw, c.own = nil, nil, fd
	c.reader.full = 0
	return true
}

// toPoller gives the thread back, unless that cannot be done now.
func (c *Conn) toPoller() {
	if !c.writer.TryLock() {
		return
	}
	defer c.writer.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.polled != nil || c.users > 0 {
		return
	}
	s, err := polled(c.own)
	if err != nil {
		return // no descriptor is free
	}
	raw, err := s.SyscallConn()
	if err != nil {
		s.Close()
		return
	}
	unix.Close(c.own)
	giveThread()
	c.polled, c.raw, c.own = s, raw, -1
}

// polled returns a connection of Go's poller with the socket of a descriptor, which stays open.
func polled(fd int) (Socket, error) {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(other), "socket")
	defer f.Close() // FileConn makes a descriptor of its own
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return nc.(Socket), nil // the families that New takes
}

// fewestPs is enough for a busy link and a busy process, and for the goroutines beside them.
const fewestPs = 4

// Prepare gives a process that will have Conns enough Ps on a machine with few processors.
func Prepare() {
	if runtime.GOMAXPROCS(0) < fewestPs {
		runtime.GOMAXPROCS(fewestPs)
	}
}
