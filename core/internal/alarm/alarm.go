// Package alarm is an alarm clock that goes on while the machine is suspended, and that nobody can set (CLOCK_BOOTTIME). Go's timers stand
// still while the machine is suspended, and would ring too late after it.
//
// A Clock has one goroutine, which ends with Close. Set may be called from any goroutine. The package imports nothing of ours.
package alarm

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns how long ago this machine was started, also while it was suspended.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error()) // Linux has had it since 2.6.39
	}
	return time.Duration(t.Nano())
}

// Clock rings at a time that is set.
type Clock struct {
	file  *os.File
	rings chan struct{}
	over  chan struct{} // closed when the goroutine has ended
}

// New returns a clock that is not set.
func New() (*Clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	c := &Clock{file: os.NewFile(uintptr(fd), "timer"), rings: make(chan struct{}, 1), over: make(chan struct{})}
	go c.listen()
	return c, nil
}

// listen passes the kernel's word on.
func (c *Clock) listen() {
	defer close(c.over)
	var b [8]byte
	for {
		n, err := c.file.Read(b[:])
		if err != nil {
			return // closed
		}
		if n == len(b) && binary.NativeEndian.Uint64(b[:]) > 0 {
			select {
			case c.rings <- struct{}{}:
			default: // it was not heard yet
			}
		}
	}
}

// Set has the clock ring once at a time that Now will show, at once for one that has passed. What was set before is forgotten.
func (c *Clock) Set(at time.Duration) error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	at = max(at, 1) // 0 would switch it off
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(at.Nanoseconds())}, nil)
	}); err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("set a timer: %w", failed)
	}
	return nil
}

// Rings gets a value when the clock rings.
func (c *Clock) Rings() <-chan struct{} { return c.rings }

// Close ends the clock. It rings no more.
func (c *Clock) Close() { c.file.Close() }
