package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Timer is a call of a function that was put off. It is what time.AfterFunc returns.
type Timer = leases.Timer

// Effects is what the submitting half asks of the session. Every function
// that is handed over here is called with the mutex held, and never before the
// method that it was handed to has returned.
type Effects interface {
	// Push tells the daemon; what is about a lease goes to the daemon of the node that the lease's number names.
	Push(t wire.Type, body any)
	// PushTo tells the daemon of another node, whose guest this process becomes if it is none: its event HomeLost
	// comes when that cannot be, or ends.
	PushTo(node uint32, t wire.Type, body any)
	// NodeName returns the id of another node that this process is or was a guest of, for people.
	NodeName(node uint32) string
	// RoundTrip returns how long a message to the daemon of another node and its answer take; 0: that is not known.
	RoundTrip(node uint32) time.Duration
	// Request asks the daemon.
	Request(t wire.Type, body any, answered func(*wire.Message, error))
	// Tell sends a message to another process, over a control connection.
	Tell(addr string, t wire.Type, body any, done func(error))
	// Known reports whether there is a control connection to a process.
	Known(addr string) bool
	// Connect opens the socket of a channel: its event connected comes next. Page is a
	// descriptor that goes along, or -1.
	Connect(o *Channel, addr string, hello wire.Hello, page int)
	// After calls a function when a time has passed, unless the session has ended.
	After(d time.Duration, f func()) Timer

	// Promote moves arguments of a task that are too many for one message to the arena: its event promoted comes next.
	Promote(t *Task, list []*refs.Object)
	// Report tells the program's user what has waited for long.
	Report(list []*waiting.Report)
	// Warn tells the program's user.
	Warn(text string)
	// Unheld reports a failure that no reference can show, because the program has dropped all references.
	Unheld(first uint64, name string, f *fault.Error)
	// NeverFetched reports an exception that no reference can show.
	NeverFetched(first uint64, name string, value []byte, size uint64)
	// LessNeeded tells that something has ended for which this process had to stay. It is called only while
	// the process leaves: see Leaves.
	LessNeeded()
	// Maker returns the number of the template's name, for the census.
	Maker(t *Template) uint32
	// Number reads a setting.
	Number(name string, otherwise int) int
	// Log writes a line to standard error.
	Log(text string)
	// Descriptor tells of a descriptor that a forked child must close, and before one is closed.
	Descriptor(fd int, open bool)
}

// Pipe is the socket of a channel. What is queued is appended to Buffer, so
// that a frame is written where it is sent from.
type Pipe interface {
	// Buffer returns what was queued and not sent yet; Queue takes it back, with more behind.
	Buffer() []byte
	Queue(b []byte)
	Unsent() int
	// Refused reports whether nothing left of what was queued since Unsent was 0, because the other end is gone.
	Refused() bool
	// Full reports whether the socket takes no more for now. The function is called once everything is sent.
	Full() bool
	WhenSent(f func())
	// Flush sends now; SendSoon leaves it to the next turn of who waits.
	Flush()
	SendSoon()
	// Close ends the socket at once, CloseWhenRead when everything that has arrived is read.
	Close()
	CloseWhenRead()
	Closed() bool
	// SendCall queues the bytes as Queue does, of which the last are a call's, and sends them now or soon.
	// It and CallAnswered learn how long waking up takes, of which TellWakeup tells the other end.
	SendCall(b []byte, seq uint32, unanswered int, now bool)
	CallAnswered(seq uint32, ran time.Duration)
	TellWakeup()
	FD() int // for the tracer
}
