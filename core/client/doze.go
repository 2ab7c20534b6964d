package client

import (
	"time"

	"golang.org/x/sys/unix"
)

// Who waits for very many results gains nothing by looking at each as it comes:
// every look takes time from what computes on the same core. While all workers
// have enough to do until the next look, looks are dozeFor apart.

const (
	dozeFrom = 256 // results that are missing
	dozeFor  = 2 * time.Millisecond
	dozeLeft = 3000.0 // µs of work that every worker must have, more than dozeFor
	dozeEach = 50.0   // µs that a task runs: of shorter ones many answers come at a time anyway
)

// doze lets answers collect; the leader's, mu held, released while waiting. It
// ends early like a poll does, but for what comes on the sockets.
func (c *Client) doze(timeoutMs int) {
	now := time.Now()
	left := dozeFor - now.Sub(c.lookedAt)
	if left <= 0 || timeoutMs >= 0 && timeoutMs <= int(dozeFor/time.Millisecond) || c.exec != nil || len(c.followers) > 0 || !c.busyWorkers() {
		c.lookedAt = now
		return
	}
	c.polling = true
	c.mu.Unlock()
	wait := unix.NsecToTimespec(int64(left))
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(c.wakeFD), Events: unix.POLLIN}}, &wait, nil)
	c.mu.Lock()
	c.polling = false
	if err == unix.EINTR {
		c.interrupted()
	}
	c.lookedAt = time.Now()
}

// busyWorkers reports whether every lease has work until long after the next look.
func (c *Client) busyWorkers() bool {
	some := false
	for _, l := range c.leases {
		us := l.class.paces[l.choice].us
		if l.busy == 0 || l.paused || us < dozeEach || float64(l.busy)*us < dozeLeft {
			return false
		}
		some = true
	}
	return some
}
