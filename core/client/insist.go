package client

import "time"

// How often the program is told of a cancellation that it has not asked about.
const (
	insistFirst = 10 * time.Millisecond
	insistLast  = time.Second
)

// insist repeats the interruption until the program has asked what was
// cancelled. One signal may go unnoticed: between the interpreter's last look
// for signals and the system call in which the task then waits; mu held.
func (e *executor) insist(wait time.Duration) {
	time.AfterFunc(wait, func() {
		c := e.c
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(e.canceled) == 0 || c.closed {
			return
		}
		c.opts.Interrupt()
		e.insist(min(2*wait, insistLast))
	})
}
