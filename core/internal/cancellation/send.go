package cancellation

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const (
	firstPause = 25 * time.Millisecond // the pause before the second try; each pause is twice as long as the one before,
	mostPause  = time.Second           // up to this
	warnAfter  = 6                     // after so many tries, about a second, the program is told
)

// Sender is what an Outbox asks of the session. Every function that is handed over is called
// with the mutex held, and never before the method that it was handed to has returned.
type Sender interface {
	// Tell sends a message to another process, over a control connection.
	Tell(addr string, t wire.Type, body any, done func(error))
	// Later calls a function when a time has passed, unless the session has ended.
	Later(d time.Duration, f func())
	// Warn tells the program's user.
	Warn(text string)
}

// Outbox has the cancellations that have not arrived. Init comes before all else.
type Outbox struct {
	sender    Sender
	closed    bool
	resending map[*Cancellation]bool // they are sent again after a pause
}

// Init makes the outbox empty.
func (x *Outbox) Init(s Sender) { *x = Outbox{sender: s, resending: map[*Cancellation]bool{}} }

// Cancellation is on its way to the worker that runs a task, or to the task's owner.
type Cancellation struct {
	outbox  *Outbox
	addr    string
	request wire.Cancel
	what    string      // what is cancelled, for the warning
	wanted  func() bool // reports whether the task still runs there
	heard   chan error  // takes the one answer without blocking; nil: nobody waits
	tries   int
}

// Send sends a cancellation to the process at an address. what is the name of the cancelled task, for
// the user. wanted reports whether the cancellation is still of use. awaited says that the caller will call Await.
func (x *Outbox) Send(addr string, request wire.Cancel, what string, awaited bool, wanted func() bool) *Cancellation {
	k := &Cancellation{outbox: x, addr: addr, request: request, what: what, wanted: wanted}
	if awaited {
		k.heard = make(chan error, 1)
	}
	k.send()
	return k
}

// End ends the waits for the cancellations that would be sent again: the session has ended.
func (x *Outbox) End() {
	x.closed = true
	for k := range x.resending {
		k.over(nil)
	}
	clear(x.resending)
}

// Await waits until the process has heard of the cancellation. After the patience it goes
// on without the caller; the mutex is not held.
func (k *Cancellation) Await(patience time.Duration) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case err := <-k.heard:
		return err
	case <-limit.C:
		return nil
	}
}

// send tries once.
func (k *Cancellation) send() {
	k.tries++
	k.outbox.sender.Tell(k.addr, wire.TCancel, k.request, func(err error) {
		switch {
		case err == nil:
			k.over(nil)
		case fault.CodeOf(err) == fault.BadRequest: // it was heard, and refused
			k.over(err)
		default:
			k.failed(err)
		}
	})
}

// failed tries again after a pause, unless the session has ended.
func (k *Cancellation) failed(why error) {
	x := k.outbox
	if x.closed {
		k.over(nil)
		return
	}
	x.resending[k] = true
	x.sender.Later(min(firstPause<<min(k.tries-1, 10), mostPause), func() {
		delete(x.resending, k)
		if !k.wanted() {
			k.over(nil)
			return
		}
		if k.tries == warnAfter {
			x.sender.Warn(fmt.Sprintf("the cancellation of %s has not reached the process at %s yet, which cannot be connected to: %v; it is sent again until it arrives or the task ends", k.what, k.addr, why))
		}
		k.send()
	})
}

// over wakes the callers of Await.
func (k *Cancellation) over(err error) {
	if k.heard != nil {
		k.heard <- err
	}
}
