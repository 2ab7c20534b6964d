package transport

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// reading knows which thread reads the sockets, and can wake that thread. The session's
// mutex guards it.
type reading struct {
	leader  *wait.Wait // the wait of the thread that reads; nil: nobody reads
	nobody  *wait.Wait // leads in the place of a thread that waits for nothing
	left    *sync.Cond // there is no leader any more
	polling bool       // the leader sleeps, or reads
	bell    int        // an eventfd that ends the leader's sleep
	kicked  bool       // the bell was rung, and nobody has heard it yet
	ended   bool
	alarm   *Alarm // of the background poller; nil: there is none
}

// Led reports whether a thread that waits leads: the background poller is none.
func (r *reading) Led() bool { return r.leader != nil && r.leader != r.nobody }

// Kick makes a leader that sleeps look again; there need not be one.
func (r *reading) Kick() {
	if r.polling && !r.kicked {
		r.kicked = true
		one := [8]byte{1}
		_, _ = unix.Write(r.bell, one[:]) // it is full when it has rung already
	}
}

// LookSoon makes sure that the sockets are read soon, whichever thread leads.
func (r *reading) LookSoon() {
	if r.leader == nil {
		r.Arm()
	} else {
		r.Kick()
	}
}

// AwaitNoLeader returns when nobody reads any more; End was called before. The
// mutex is released meanwhile.
func (r *reading) AwaitNoLeader() {
	for r.leader != nil {
		r.Kick()
		r.left.Wait()
	}
}

// Arm makes sure of a turn of the background poller within a millisecond.
func (r *reading) Arm() {
	if r.alarm != nil && !r.ended {
		r.alarm.arm()
	}
}

// ArmReader makes sure that a thread reads the sockets. A background poller that watches
// the sockets counts as such.
func (r *reading) ArmReader() {
	if r.alarm != nil && r.alarm.mode != ModeWatch {
		r.Arm()
	}
}

// sends reports whether the leader sends what is queued before it sleeps, or
// arms the background poller when it leaves.
func (r *reading) sends() bool {
	return r.leader != nil && r.leader != r.nobody && !r.polling
}
