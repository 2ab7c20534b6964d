package transport

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
)

// SendCall sets the bytes that wait to be sent, which end with the call of a
// sequence number. Unanswered is how many calls to processes of this node have no answer, this one included. The bytes leave now or at the next turn
// of whoever waits for this process's sockets.
func (k *Conn) SendCall(b []byte, seq uint32, unanswered int, now bool) {
	k.out = b
	k.callSent(seq, unanswered)
	if now {
		k.Flush()
	}
	if len(k.out) > 0 {
		k.SendSoon()
	} else {
		k.ReadSoon()
	}
}

// callSent notes that a call is queued now. With one processor nobody looks, so
// nothing is measured.
func (k *Conn) callSent(seq uint32, unanswered int) {
	if k.far {
		return
	}
	if unanswered == 1 && cpus > 1 {
		k.s.lone = lone{measured: true, fd: k.fd, seq: seq, sent: time.Now()}
	} else {
		k.s.lone.measured = false
	}
}

// CallAnswered learns from the answer to a call, which ran for so long. An answer from another node
// may have woken this process before the answer that it measures comes.
func (k *Conn) CallAnswered(seq uint32, ran time.Duration) {
	l := &k.s.lone
	if k.far {
		l.measured = false
		return
	}
	if !l.measured || l.fd != k.fd || l.seq != seq {
		return
	}
	l.measured = false
	if l.slept {
		k.s.spinner.wakeup.add(time.Since(l.sent) - ran)
	}
}

// TellWakeup queues the cost of a wake-up ahead of a call, if the other end does not know
// it yet. What waking costs here means nothing on another node.
func (k *Conn) TellWakeup() {
	if k.far {
		return
	}
	cost := k.s.spinner.wakeup.cost()
	if off := cost - k.toldWakeup; off > k.toldWakeup/4 || -off > k.toldWakeup/4 {
		k.toldWakeup = cost
		k.out = frame.AppendWakeup(k.out, uint64(cost.Microseconds()))
	}
}

// HearWakeup takes the cost of a wake-up that the other end has measured, in microseconds.
func (k *Conn) HearWakeup(us uint64) {
	if k.far {
		return
	}
	k.s.spinner.wakeup.told(time.Duration(min(us, uint64(wakeupMost.Microseconds()))) * time.Microsecond)
}
