package refs

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// What an answer refers to is held until its caller confirms that it has
// registered the references. An answer is the result of a task or of an actor's
// call, or an item of a generator. Each answer that is held has a number, which
// this process gives out once. The answer says its number, and the caller's
// receipt repeats it. So it does not matter how often a task runs here, or in
// which order receipts come.
//
// A caller confirms only what it has read. When the task socket between the two
// breaks, an answer may be lost in it. Only the caller knows which answers it
// has read, and it may have to register references of them first. So this process
// asks the caller (AskRead) until the caller says that it reads nothing more from
// that socket, and that all references that it got are registered. From then
// on nothing needs to be held for that socket, and receipts that come later
// change nothing. A caller that cannot be asked has ended.
//
// A caller that has ended confirms nothing. Most callers have a control
// connection to this process, and its end tells (BorrowerGone). The question
// finds out about the others, since the task socket of a caller that has ended breaks.

// TaskSocket names a task socket to this process by what its caller said in the hello.
type TaskSocket struct {
	Caller ids.Owner
	Addr   string // where other processes reach the caller
	Actor  bool   // the caller calls an actor here; otherwise it leases this process
	Number uint64 // of the lease, or of the caller's connection to the actor
}

// heldAnswer is what an answer refers to. The objects are pinned.
type heldAnswer struct {
	socket TaskSocket // on which the answer was sent
	list   []*Object
}

// HoldResult keeps what an answer refers to until its caller confirms it. The objects are
// pinned already. It returns the answer's number, which is not 0.
func (t *Table) HoldResult(s TaskSocket, list []*Object) (number uint64) {
	t.answers++
	t.holdAnswer(s, t.answers, list)
	return t.answers
}

func (t *Table) holdAnswer(s TaskSocket, number uint64, list []*Object) {
	m := t.unconfirmed[s.Caller]
	if m == nil {
		m = map[uint64]heldAnswer{}
		if t.unconfirmed == nil {
			t.unconfirmed = map[ids.Owner]map[uint64]heldAnswer{}
		}
		t.unconfirmed[s.Caller] = m
	}
	m[number] = heldAnswer{s, list}
}

// Confirmed notes that the caller has registered the references inside the answer with this
// number. A number under which nothing is held for the caller changes nothing.
func (t *Table) Confirmed(caller ids.Owner, number uint64) {
	if m := t.unconfirmed[caller]; m != nil {
		t.letGo(m, number)
		t.forgetCaller(caller, m)
	}
	t.CarryOut()
	t.effects.Needed()
}

// letGo lets go of what an answer refers to.
func (t *Table) letGo(m map[uint64]heldAnswer, number uint64) {
	if h, ok := m[number]; ok {
		delete(m, number)
		t.UnpinAll(h.list)
	}
}

// forgetCaller removes the caller's map when nothing is held for the caller any more.
func (t *Table) forgetCaller(caller ids.Owner, m map[uint64]heldAnswer) {
	if len(m) == 0 {
		delete(t.unconfirmed, caller)
	}
}

// CallerLost is told that a caller's task socket has broken: no answer is sent on it from now on.
func (t *Table) CallerLost(s TaskSocket) {
	if t.HoldsFor(s) {
		t.effects.AskRead(s, RetainFirst) // most receipts come before that
	}
}

// HoldsFor reports whether an answer is held that was sent on this task socket.
func (t *Table) HoldsFor(s TaskSocket) bool {
	for _, h := range t.unconfirmed[s.Caller] {
		if h.socket == s {
			return true
		}
	}
	return false
}

// CallerRead is the answer to AskRead, before which so much time had passed: the caller
// has read all that it will ever read from the socket and has registered it, or it has
// not yet. A caller that has ended holds nothing, so that is a yes.
func (t *Table) CallerRead(s TaskSocket, yes bool, pause time.Duration) {
	if !t.HoldsFor(s) {
		return
	}
	if !yes {
		t.effects.AskRead(s, min(2*pause, RetainMost))
		return
	}
	m := t.unconfirmed[s.Caller]
	for number, h := range m {
		if h.socket == s {
			t.letGo(m, number)
		}
	}
	t.forgetCaller(s.Caller, m)
	t.CarryOut()
	t.effects.Needed()
}

// dropUnconfirmed lets go of what a caller that is gone had not confirmed.
func (t *Table) dropUnconfirmed(caller ids.Owner) {
	for _, h := range t.unconfirmed[caller] {
		t.UnpinAll(h.list)
	}
	delete(t.unconfirmed, caller)
}

// EachUnconfirmed calls f with what each unconfirmed answer refers to.
func (t *Table) EachUnconfirmed(f func(s TaskSocket, number uint64, list []*Object)) {
	for _, m := range t.unconfirmed {
		for number, h := range m {
			f(h.socket, number, h.list)
		}
	}
}

// Unconfirmed reports whether a caller has not confirmed an answer.
func (t *Table) Unconfirmed() bool { return len(t.unconfirmed) > 0 }

// UnpinAll is Unpin for each of them.
func (t *Table) UnpinAll(list []*Object) {
	for _, o := range list {
		t.Unpin(o)
	}
}
