package transport

import (
	"time"

	"github.com/eagleray/eagleray/core/frame"
)

// CallSent notes that the call with a sequence number is queued now. Unanswered
// counts it. With one processor nobody looks, so nothing is measured.
func (k *Conn) CallSent(seq uint32, unanswered int) {
	if unanswered == 1 && cpus > 1 {
		k.s.lone = lone{measured: true, fd: k.fd, seq: seq, sent: time.Now()}
	} else {
		k.s.lone.measured = false
	}
}

// CallAnswered learns from the answer to a call, which ran for so long.
func (k *Conn) CallAnswered(seq uint32, ran time.Duration) {
	l := &k.s.lone
	if !l.measured || l.fd != k.fd || l.seq != seq {
		return
	}
	l.measured = false
	if l.slept {
		k.s.spinner.wakeup.add(time.Since(l.sent) - ran)
	}
}

// TellWakeup queues what waking up costs, ahead of a call, when that is news to
// the other end.
func (k *Conn) TellWakeup() {
	cost := k.s.spinner.wakeup.cost()
	if off := cost - k.toldWakeup; off > k.toldWakeup/4 || -off > k.toldWakeup/4 {
		k.toldWakeup = cost
		k.out = frame.AppendWakeup(k.out, uint64(cost.Microseconds()))
	}
}

// HearWakeup takes what the other end says that waking up costs, in microseconds.
func (k *Conn) HearWakeup(us uint64) {
	k.s.spinner.wakeup.told(time.Duration(min(us, uint64(wakeupMost.Microseconds()))) * time.Microsecond)
}
