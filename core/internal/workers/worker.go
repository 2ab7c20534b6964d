package workers

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// State is how far a worker has come.
type State int

// The states of a worker, in their order.
const (
	Starting State = iota // it was ordered
	Ready                 // it has said that it takes work
	Gone                  // it has left the table
)

// Events is what the table tells of one worker. Exactly one of Failed and Gone is
// called, once, after the worker has left the table. The owner's lock is held in both.
type Events interface {
	// Failed says why the worker does not come up. The end of no process was seen.
	Failed(why string)
	// Gone says how the worker's process has ended.
	Gone(end End)
	// KilledFromOutside is called before Gone, without the lock, when a SIGKILL that the
	// table has not sent ended a worker that was ready. It may call Blame.
	KilledFromOutside()
}

// Excess is the reason for which a worker was ended because of the memory that it held.
type Excess struct {
	Text  string // "" for a worker that was not
	Code  fault.Code
	Bytes uint64 // what it held of the node's memory
}

// Worker is one process of the table. The owner's lock guards it.
type Worker struct {
	id     uint64
	job    *Job
	env    string
	token  string // the worker shows it when it connects
	events Events

	state   State
	ordered time.Time // when it was added to the table
	readyAt time.Time

	zygote    *envZygote  // that forks it
	forks     int         // how often its fork was ordered
	forkSent  bool        // the last order was sent
	deadline  *time.Timer // of its start; nil until its zygote can fork
	pid       int
	process   *Process   // nil until its zygote or its connection has told of it
	output    *Output    // nil until its fork was ordered
	peer      *wire.Peer // nil until it has connected
	closed    bool       // that connection has closed
	timers    []*time.Timer
	dismissed bool // it is to be killed as soon as its process is known

	status             Ending
	statusSet          chan struct{} // closed when status is known
	reason             string        // why it ends by itself, as it said
	excess             Excess
	killed             bool // the table sent a SIGKILL while the process lived
	killedDisconnected bool // that was only because its connection had closed
}

// ID returns the number that the owner gave the worker.
func (w *Worker) ID() uint64 { return w.id }

// Env returns the key of the worker's environment.
func (w *Worker) Env() string { return w.env }

// State returns how far the worker has come.
func (w *Worker) State() State { return w.state }

// Times returns when the worker was ordered, and when it was ready: zero if it was not.
func (w *Worker) Times() (ordered, ready time.Time) { return w.ordered, w.readyAt }

// Pid returns the process id, 0 while it is not known.
func (w *Worker) Pid() int { return w.pid }

// Process returns the handle of the process, nil while it is not known.
func (w *Worker) Process() *Process { return w.process }

// Peer returns the worker's connection, nil if it has none: it has not connected, or
// the connection has closed.
func (w *Worker) Peer() *wire.Peer {
	if w.closed {
		return nil
	}
	return w.peer
}

// Output returns what takes the worker's output, nil until its fork was ordered.
func (w *Worker) Output() *Output { return w.output }

// Dismissed reports whether the worker was killed, or will be when its process is known.
func (w *Worker) Dismissed() bool { return w.dismissed }

// Serves reports whether a worker lives and does not mean to end.
func (w *Worker) Serves() bool {
	return w.state != Gone && !w.dismissed && w.reason == "" && w.Peer() != nil && !w.process.Over()
}

// Reason returns why the worker ends by itself, "" if it has not said that it does.
func (w *Worker) Reason() string { return w.reason }

// SetReason notes why the worker ends by itself.
func (w *Worker) SetReason(reason string) { w.reason = reason }

// Excess returns why the worker was ended, if it was ended because of its memory.
func (w *Worker) Excess() Excess { return w.excess }

// Blame notes that the worker's end has to do with its memory; it ends nothing. It
// reports whether this is the first such reason: the first one stays.
func (w *Worker) Blame(e Excess) bool {
	if w.excess.Text != "" {
		return false
	}
	w.excess = e
	return true
}

// ExitText says how the process ended.
func (w *Worker) ExitText() string { return ExitText(w.pid, w.status.Status, w.status.Known) }

// killedFromOutside reports whether a SIGKILL that the table did not send ended the worker.
func (w *Worker) killedFromOutside() bool {
	return w.status.Known && w.status.Status == -int(unix.SIGKILL) && !w.killed
}

// after calls f after the given time, unless the worker is gone by then. The timer is
// stopped when the worker goes, because a timer that still runs keeps everything that the
// worker had.
func (w *Worker) after(t time.Duration, f func()) *time.Timer {
	timer := time.AfterFunc(t, f)
	w.timers = append(w.timers, timer)
	return timer
}

// stopTimers stops what was to be done about a worker that is gone.
func (w *Worker) stopTimers() {
	for _, t := range w.timers {
		t.Stop()
	}
	w.timers = nil
}

// stopDeadline ends the time that the worker has to come up.
func (w *Worker) stopDeadline() {
	if w.deadline != nil {
		w.deadline.Stop()
		w.deadline = nil
	}
}

// NewToken returns a text that nobody can guess.
func NewToken() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("workers: the system has no random numbers: " + err.Error())
	}
	return hex.EncodeToString(b[:])
}
