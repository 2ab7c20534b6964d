package client

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// When the process that a cancellation is for cannot be reached, it has most likely
// ended, and its end ends the task. If it lives the cancellation must not be lost,
// because who waits for the task would wait for ever. So the cancellation is sent
// again until it arrives, or until nobody needs it any more.
const (
	cancelAgain = 25 * time.Millisecond // the pause before the second try; each pause is twice as long as the one before,
	cancelRests = time.Second           // up to this
	cancelSays  = 6                     // after so many tries, about a second, the program is told
)

// cancellation is on its way to the worker that runs a task, or to the task's owner.
type cancellation struct {
	c      *submitter
	addr   string
	q      wire.Cancel
	what   string      // what is cancelled, for the warning
	wanted func() bool // reports whether the task still runs there
	heard  chan error  // takes the one answer without blocking; nil: nobody waits
	tries  int
}

// await waits until the process has heard of the cancellation. After the patience it goes
// on without the caller; the mutex is not held.
func (k *cancellation) await(patience time.Duration) error {
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
func (k *cancellation) send() {
	k.tries++
	k.c.fx.Tell(k.addr, wire.TCancel, k.q, func(err error) {
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
func (k *cancellation) failed(why error) {
	if k.c.closed {
		k.over(nil)
		return
	}
	pause := min(cancelAgain<<min(k.tries-1, 10), cancelRests)
	k.c.resending[k] = true
	k.c.fx.After(pause, func() {
		delete(k.c.resending, k)
		if !k.wanted() {
			k.over(nil)
			return
		}
		if k.tries == cancelSays {
			k.c.fx.Warn(fmt.Sprintf("the cancellation of %s has not reached the process at %s yet, which cannot be connected to: %v; it is sent again until it arrives or the task ends", k.what, k.addr, why))
		}
		k.send()
	})
}

// over tells who waits.
func (k *cancellation) over(err error) {
	if k.heard != nil {
		k.heard <- err
	}
}
