package refs

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/wait"
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
// have ended. After the last one all waiters go on, except the late drops: Drop
// takes those together with what the program has dropped since.
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
		t.effects.Receipt(r.worker, r.answer)
	}
}

// AwaitRegistered arranges that the wait ends when all references are registered. If they are already, it ends at once.
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

// OwnerLate reports whether an answer has waited in vain for an owner. Until that owner acknowledges, further answers do not wait.
func (t *Table) OwnerLate() bool { return t.ownerLate }

// ReceiptWhenRegistered tells a worker that the references inside its answer with
// this number are registered, as soon as they are.
func (t *Table) ReceiptWhenRegistered(worker string, answer uint64) {
	if t.unregistered == 0 {
		t.effects.Receipt(worker, answer)
		return
	}
	t.receipts = append(t.receipts, receipt{worker, answer})
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

// WorkerRegistered takes the answer to AskRegistered: whether the worker has registered
// everything. A worker that has ended keeps nothing, so its end counts as yes.
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
