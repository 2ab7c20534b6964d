package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Effects is what a worker's queue has the session do. The session's mutex is held.
type Effects interface {
	// Wake ends a wait: its thread wakes up, or its function is called.
	Wake(w *wait.Wait)
	// LookSoon has the sockets read soon.
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
	// Unpin lets go of what Call.Hold was given.
	Unpin(held []*refs.Object)
	// CallerLeft says that the connection of a caller has ended.
	CallerLeft(who ids.Owner, addr string)
	// NoMoreCalls says that the worker ends: an event loop that waits has to look.
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
	// WhenSent has f called once everything is sent, unless a function waits for that already.
	WhenSent(f func())
	Pause() // stops reading
	Resume()
	Paused() bool
	Closed() bool
	// HearWakeup takes how many microseconds the other end needs to wake up.
	HearWakeup(us uint64)
	FD() int // for traces
}

// closedPipe is the connection of a call that nobody sent through a socket: an actor's constructor.
type closedPipe struct{}

func (closedPipe) Buffer() []byte       { return nil }
func (closedPipe) Queue([]byte)         {}
func (closedPipe) Unsent() int          { return 0 }
func (closedPipe) Flush()               {}
func (closedPipe) FlushUntil(time.Time) {}
func (closedPipe) SendSoon()            {}
func (closedPipe) SendLater()           {}
func (closedPipe) Sent()                {}
func (closedPipe) WhenSent(func())      {}
func (closedPipe) Pause()               {}
func (closedPipe) Resume()              {}
func (closedPipe) Paused() bool         { return false }
func (closedPipe) Closed() bool         { return true }
func (closedPipe) HearWakeup(uint64)    {}
func (closedPipe) FD() int              { return -1 }
