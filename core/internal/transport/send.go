package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// keptBuffer is how much memory for bytes to send a connection keeps, bytes.
const keptBuffer = 1 << 20

// Buffer returns the bytes that wait to be sent. The caller appends to them
// and hands the result to Queue.
func (k *Conn) Buffer() []byte { return k.out }

// Queue sets the bytes that wait to be sent.
func (k *Conn) Queue(b []byte) { k.out = b }

// Unsent is how many bytes wait to be sent.
func (k *Conn) Unsent() int { return len(k.out) }

// Refused reports whether the socket has refused bytes because the other end is gone, and nothing of what was queued since Unsent was 0
// had left. So the other end has got none of that.
func (k *Conn) Refused() bool { return k.refused }

// WhenSent arranges that f is called once everything is sent, unless another function
// waits for that already.
func (k *Conn) WhenSent(f func()) {
	if k.whenSent == nil {
		k.whenSent = f
	}
}

// SendSoon makes sure that the queued bytes are sent within a millisecond.
func (k *Conn) SendSoon() {
	k.SendLater()
	if !k.s.sends() {
		k.s.Arm()
	}
}

// SendLater makes the next poll send the queued bytes. The caller makes sure that there is
// a next poll.
func (k *Conn) SendLater() {
	if !k.listed && !k.closed {
		k.listed = true
		k.s.unsent = append(k.s.unsent, k)
	}
}

// Sent takes the connection off the list of those with unsent bytes when it is
// the only one there and everything has left.
func (k *Conn) Sent() {
	if s := k.s; len(s.unsent) == 1 && s.unsent[0] == k && len(k.out) == 0 {
		k.listed = false
		s.unsent = s.unsent[:0]
	}
}

// SendAll sends what all connections have queued.
func (s *sockets) SendAll() {
	if len(s.unsent) == 0 {
		return
	}
	for _, k := range s.unsent {
		k.listed = false
		k.Flush()
	}
	s.unsent = s.unsent[:0]
}

// Flush sends without blocking. What does not fit is sent when the socket is
// writable again.
func (k *Conn) Flush() {
	if k.full || k.closed {
		return
	}
	for sent := 0; ; {
		if sent == len(k.out) {
			k.out, k.partly = k.out[:0], false
			if cap(k.out) > keptBuffer {
				k.out = nil
			}
			if f := k.whenSent; f != nil {
				k.whenSent = nil
				f()
			}
			return
		}
		w := k.tracedWrite()
		n, err := unix.Write(k.fd, k.out[sent:])
		w.End(n)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			k.out = append(k.out[:0], k.out[sent:]...)
			k.full, k.partly = true, k.partly || sent > 0
			k.watch()
			return
		case err != nil:
			k.refused = sent == 0 && !k.partly
			k.out = k.out[:0] // the reader will see the end and tell
			return
		default:
			sent += n
		}
	}
}

// unblock continues to send to a socket that was full.
func (k *Conn) unblock() {
	k.full = false
	k.watch()
	k.Flush()
}

// FlushUntil sends everything, and waits for the other end to read until the
// deadline. The mutex stays held: the process is about to end.
func (k *Conn) FlushUntil(deadline time.Time) {
	for !k.closed && len(k.out) > 0 {
		k.full = false
		k.Flush()
		if len(k.out) == 0 {
			return
		}
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		f := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(f, int(left.Milliseconds())+1)
	}
}

// FlushUntil is Conn.FlushUntil of all connections.
func (s *sockets) FlushUntil(deadline time.Time) {
	for _, k := range s.conns {
		k.FlushUntil(deadline)
	}
}
