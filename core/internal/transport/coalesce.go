package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// A thread that waits for very many results gains nothing from a look at each
// one as it comes: every look takes time from what computes on the same core.
// So while everybody who computes has enough to do until the next look, looks
// are coalesceFor apart, and answers collect meanwhile.

const (
	coalesceFrom = 256 // results that are missing
	coalesceFor  = 2 * time.Millisecond
)

// coalescer decides how long answers may collect before they are read.
type coalescer struct {
	lookedAt time.Time // when the sockets were looked at last
}

// pause is how long answers may collect from now on, given the timeout of the
// poll; 0 or less: the sockets are to be looked at now.
func (c *coalescer) pause(now time.Time, timeoutMs int) time.Duration {
	if timeoutMs >= 0 && timeoutMs <= int(coalesceFor/time.Millisecond) {
		return 0
	}
	return coalesceFor - now.Sub(c.lookedAt)
}

// sleepUntilKicked sleeps until the bell rings or the time is over. What the
// sockets bring does not end it.
func sleepUntilKicked(bell int, limit time.Duration) error {
	t := unix.NsecToTimespec(int64(limit))
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(bell), Events: unix.POLLIN}}, &t, nil)
	return err
}
