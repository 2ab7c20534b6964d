package refs

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
)

// A reference that comes from elsewhere is registered with its owner. Until the
// owner has acknowledged that, whoever gave us the reference has to hold it. So
// three things wait for the acknowledgements: drops (drops.go), the receipt of a
// result, which its worker waits for, and the end of a call, whose caller holds
// the arguments. An owner that is stopped or very busy does not hold up calls:
// the answer says that something is not registered yet, and the caller retains
// the arguments until the worker says that everything is. The end of a
// constructor says so in the same way, to the actor's creator.

// How long a caller waits before it asks a worker again.
const (
	RetainFirst = 10 * time.Millisecond
	RetainMost  = time.Second
)

// registrations are the references that were sent to owners and not acknowledged yet.
type registrations struct {
	unregistered int
	ackWaits     []*wait.Wait // for all of them to be acknowledged
	receipts     []receipt    // sent then
	ownerLate    bool         // an owner has not acknowledged for a while, and does not keep answers waiting
	retained     []*Retained
}

// receipt is what tells a worker that the references inside a task's result are registered.
type receipt struct {
	worker string
	task   ids.Task
}

// Retained are the arguments of a call that was answered before its worker had
// registered what it keeps of them. They are pinned.
type Retained struct {
	worker string // its address
	list   []*Object
	pause  time.Duration // before it is asked the next time
}

// Worker returns the address of the worker that is asked.
func (r *Retained) Worker() string { return r.worker }

// Objects returns what is retained. The slice is the table's.
func (r *Retained) Objects() []*Object { return r.list }

// Pause is how long the table waits before it asks the worker the next time.
func (r *Retained) Pause() time.Duration { return r.pause }

// Unregistered returns how many references no owner has acknowledged yet.
func (t *Table) Unregistered() int { return t.unregistered }

// Registering notes that n references were sent to their owners, apart from those of Borrow.
func (t *Table) Registering(n int) { t.unregistered += n }

// Registered notes that the owners of n references have acknowledged them, or
// have ended. After the last one everybody who waited goes on, apart from the
// drops: Drop takes those with what the program has let go of since.
func (t *Table) Registered(n int) {
	t.unregistered -= n
	if t.unregistered != 0 {
		return
	}
	t.ownerLate = false
	waits, receipts := t.ackWaits, t.receipts
	t.ackWaits, t.receipts = nil, nil
	for _, w := range waits {
		t.effects.Wake(w)
	}
	for _, r := range receipts {
		t.effects.Receipt(r.worker, r.task)
	}
}

// AwaitRegistered has the wait end when all references are registered. It ends at once when they are.
func (t *Table) AwaitRegistered(w *wait.Wait) {
	if t.unregistered == 0 {
		t.effects.Wake(w)
		return
	}
	t.ackWaits = append(t.ackWaits, w)
}

// AwaitingRegistered returns how many waits AwaitRegistered has begun that have not ended.
func (t *Table) AwaitingRegistered() int { return len(t.ackWaits) }

// StopAwaitingRegistered undoes AwaitRegistered, because the caller has waited long enough.
func (t *Table) StopAwaitingRegistered(w *wait.Wait) {
	t.ackWaits = slices.DeleteFunc(t.ackWaits, func(x *wait.Wait) bool { return x == w })
	t.ownerLate = t.unregistered > 0
}

// EndRegistrationWaits ends the waits, because the session ends. Nothing will be
// registered any more, so the receipts that wait for it are not sent.
func (t *Table) EndRegistrationWaits() {
	waits := t.ackWaits
	t.ackWaits, t.receipts = nil, nil
	for _, w := range waits {
		t.effects.Wake(w)
	}
}

// OwnerLate reports whether an owner has let an answer wait for nothing. Until it acknowledges, the next answers do not wait.
func (t *Table) OwnerLate() bool { return t.ownerLate }

// ReceiptWhenRegistered has a worker told that the references inside a task's
// result are registered, as soon as they are.
func (t *Table) ReceiptWhenRegistered(worker string, task ids.Task) {
	if t.unregistered == 0 {
		t.effects.Receipt(worker, task)
		return
	}
	t.receipts = append(t.receipts, receipt{worker, task})
}

// Retain pins the arguments of a call and asks its worker until it has registered what it keeps of them.
func (t *Table) Retain(worker string, list []*Object) {
	if len(list) == 0 {
		return
	}
	for _, o := range list {
		t.Pin(o)
	}
	r := &Retained{worker: worker, list: list, pause: RetainFirst}
	t.retained = append(t.retained, r)
	t.effects.AskRegistered(r, 0)
}

// WorkerRegistered is the answer to AskRegistered: the worker has registered
// everything, or it has not yet. One that has ended keeps nothing, so that is a yes.
func (t *Table) WorkerRegistered(r *Retained, yes bool) {
	i := slices.Index(t.retained, r)
	if i < 0 {
		return
	}
	if !yes {
		pause := r.pause
		r.pause = min(2*pause, RetainMost)
		t.effects.AskRegistered(r, pause)
		return
	}
	t.retained = slices.Delete(t.retained, i, i+1)
	t.UnpinAll(r.list)
	t.CarryOut()
	t.effects.Needed()
}

// Retained returns what is retained for workers. The slice is the table's.
func (t *Table) Retained() []*Retained { return t.retained }
