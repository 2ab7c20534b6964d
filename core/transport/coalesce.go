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

// coalesce lets answers collect; the leader calls it. The mutex is released
// meanwhile. It ends early like a poll does, except for what the sockets bring.
func (p *Poller) coalesce(timeoutMs int) {
	now := time.Now()
	left := coalesceFor - now.Sub(p.lookedAt)
	if left <= 0 || timeoutMs >= 0 && timeoutMs <= int(coalesceFor/time.Millisecond) || len(p.followers) > 0 || !p.host.MayCoalesce() {
		p.lookedAt = now
		return
	}
	p.polling = true
	p.mu.Unlock()
	limit := unix.NsecToTimespec(int64(left))
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(p.bell), Events: unix.POLLIN}}, &limit, nil)
	p.mu.Lock()
	p.polling = false
	if err == unix.EINTR {
		p.interrupted()
	}
	p.lookedAt = time.Now()
}
