package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Effects are what the session does for a worker's queue. The session's mutex is held.
type Effects interface {
	// Wake ends a wait: its thread wakes up, or its function is called.
	Wake(w *wait.Wait)
	// LookSoon makes sure that the sockets are read soon.
	LookSoon()
	// CollectsAnswers reports whether the session sends all answers together
	// when the program has nothing left to run, as an event loop does.
	CollectsAnswers() bool
	// Blocked tells the daemon that the CPUs of this worker are lent, or are in use again.
	Blocked(blocked bool)
	// ConstructorFailed tells the daemon that the actor's constructor has not run.
	ConstructorFailed(s *wire.ActorStart, why *fault.Error)
	// InterruptProgram makes the program's main thread ask what was cancelled.
	// It returns false where the program cannot be interrupted.
	InterruptProgram() bool
	// CancelChildren cancels what a call has submitted. The channel is closed when
	// all workers concerned have heard of it, or had their time.
	CancelChildren(token uint64, force bool) <-chan struct{}
	// EndByForce ends this process after children is closed (nil: at once), if the
	// call still runs then. It does not block.
	EndByForce(k *Call, children <-chan struct{})
	// Unpin releases what was passed to Call.Hold.
	Unpin(held []*refs.Object)
	// CallerLeft says that the connection of a caller has ended.
	CallerLeft(s refs.TaskSocket)
	// NoMoreCalls is called when the worker ends, so that a waiting event loop looks again.
	NoMoreCalls()
	// AfterFunc calls f under the session's mutex when d has passed, if the session is open then.
	AfterFunc(d time.Duration, f func()) *time.Timer
}

// Pipe is a caller's connection. *transport.Conn implements it.
type Pipe interface {
	// Buffer returns the bytes that wait to be sent; Queue sets them. Frames are appended.
	Buffer() []byte
	Queue(b []byte)
	Unsent() int // bytes that wait to be sent
	Flush()      // sends what the socket takes now; it may call the function of WhenSent, and never Caller.Gone
	FlushUntil(deadline time.Time)
	SendSoon()  // has what is queued sent within a millisecond
	SendLater() // has it sent at the next poll, of which the caller makes sure
	Sent()      // says that nothing is queued any more
	// WhenSent arranges that f is called once everything is sent, unless a function waits for that already.
	WhenSent(f func())
	Pause() // stops reading
	Resume()
	Paused() bool
	Closed() bool
	// HearWakeup takes how many microseconds the other end needs to wake up.
	HearWakeup(us uint64)
	FD() int // for traces
}
