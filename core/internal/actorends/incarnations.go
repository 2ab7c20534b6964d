package actorends

import (
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/progress"
)

// kept is how long callers may take to ask about an incarnation that has ended. Callers that ask later are told that
// every call had begun.
const kept = 2 * time.Minute

// ID names one incarnation of an actor.
type ID struct {
	Actor       ids.Actor
	Incarnation uint64
}

// End is what is known of an incarnation whose process is gone.
type End struct {
	Known   bool   // Started is known
	Started uint32 // the number of the latest call of a caller that had begun
	Detail  string // how the process ended, "" if that is not known
}

// Incarnations are those on this node of actors that may restart, also ended ones for a while.
type Incarnations struct {
	mu   sync.Mutex
	rows map[ID]*incarnation
}

// incarnation is what callers may ask about.
type incarnation struct {
	page    *progress.Reader // on which its worker notes the calls; nil until the worker has asked for it
	ended   bool
	numbers *progress.Numbers // of the calls that had begun; set when it has ended
	detail  string            // how its process ended
	waiting []waiter
}

// waiter wants to know when the process is gone.
type waiter struct {
	caller progress.Caller
	tell   func(End)
}

// NewIncarnations returns an empty table.
func NewIncarnations() *Incarnations { return &Incarnations{rows: make(map[ID]*incarnation)} }

// Begin notes an incarnation that has its worker.
func (t *Incarnations) Begin(id ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[id] = &incarnation{}
}

// Has reports whether the incarnation is one of these.
func (t *Incarnations) Has(id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[id] != nil
}

// Keep keeps the page of an incarnation until the incarnation ends. It reports false if that has ended already.
func (t *Incarnations) Keep(id ID, page *progress.Reader) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.rows[id]
	if x == nil || x.ended {
		return false
	}
	x.page = page
	return true
}

// Drop forgets an incarnation that gets another worker. Who waits for its end is told that nothing is known.
func (t *Incarnations) Drop(id ID) {
	for _, w := range t.drop(id) {
		w.tell(End{})
	}
}

func (t *Incarnations) drop(id ID) (left []waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.rows[id]; x != nil {
		left = x.waiting
	}
	delete(t.rows, id)
	return left
}

// End notes how an incarnation ended, when its process is gone, and tells those who wait for that.
func (t *Incarnations) End(id ID, detail string) {
	x, waiting := t.end(id, detail)
	for _, w := range waiting {
		w.tell(x.of(w.caller))
	}
}

func (t *Incarnations) end(id ID, detail string) (x *incarnation, waiting []waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x = t.rows[id]
	if x == nil || x.ended {
		return nil, nil
	}
	x.ended, x.detail = true, detail
	if x.page != nil {
		x.numbers = x.page.Read()
		x.page.Close()
		x.page = nil
	}
	waiting, x.waiting = x.waiting, nil
	time.AfterFunc(kept, func() { t.drop(id) })
	return x, waiting
}

// of returns what a caller may know; the incarnation has ended.
func (x *incarnation) of(c progress.Caller) End {
	e := End{Detail: x.detail}
	e.Started, e.Known = x.numbers.Of(c)
	return e
}

// Await tells what is known of an incarnation when its process is gone; at once if it is gone, or if nothing is known of it here.
func (t *Incarnations) Await(id ID, c progress.Caller, tell func(End)) {
	if x, wait := t.await(id, waiter{c, tell}); !wait {
		if x == nil {
			tell(End{})
		} else {
			tell(x.of(c))
		}
	}
}

func (t *Incarnations) await(id ID, w waiter) (x *incarnation, wait bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x = t.rows[id]
	if x != nil && !x.ended {
		x.waiting = append(x.waiting, w)
		return x, true
	}
	return x, false
}

// Len returns how many there are.
func (t *Incarnations) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}
