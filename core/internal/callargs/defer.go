package callargs

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// mayDefer reports whether a call may wait in the queue for a lost argument. It may not if
// the argument cannot come back, or was lost again and again.
func (f *Fetcher) mayDefer(k *execute.Call, p frame.Place) bool {
	if k.Misses() == 0 {
		return true
	}
	o := f.Table.Find(p.ID)
	return k.Misses() < f.MaxMisses && (o == nil || o.State() == refs.Stored || o.State() == refs.Pending)
}

// toCome reports whether an argument of an actor's call was being looked for when the call
// was sent, and is still not there.
func (f *Fetcher) toCome(k *execute.Call, p frame.Place) bool {
	if p.Envelope != nil || p.Size > 0 || k.Leased() || k.Actor != nil || k.Misses() >= f.MaxMisses {
		return false
	}
	o := f.Table.Find(p.ID)
	return o == nil || o.State() == refs.Pending
}

// Defer puts a call that has not begun back into its queue until its lost arguments are there.
func (f *Fetcher) Defer(k *execute.Call, lost []int) {
	calls := f.Calls
	if !calls.Defer(k) {
		return
	}
	w, missing := wait.Calling(func() { calls.Arrived(k) }), 0
	for _, i := range lost {
		p := k.Args
		if i > 0 {
			p = k.Deps[i-1]
		}
		if o := f.lookAgain(k, p); o.State() == refs.Pending {
			missing++
			f.Table.Watch(o, w)
		}
	}
	if w.For(missing, missing, false); missing == 0 {
		f.Session.Wake(w)
	}
	f.Session.SendAll()
	f.Session.Arm()
}

// lookAgain makes the owner compute a call's lost argument again.
func (f *Fetcher) lookAgain(k *execute.Call, p frame.Place) *refs.Object {
	o := f.borrow(k, p)
	switch {
	case o.Owned():
		f.Table.VerifyCopy(o)
	case o.State() == refs.Stored:
		f.Table.Missed(o)
	case o.State() == refs.Pending && !o.Asked():
		f.Table.Ask(o, true)
	}
	return o
}

// ConstructorLacks returns the error of a constructor that cannot run because of an argument.
func ConstructorLacks(class string, err error) error {
	x := fault.From(err)
	x.Message = fmt.Sprintf("an argument of the constructor of %s could not be had: %s", class, x.Message)
	if x.Code == fault.OwnerDied {
		x.Message += ". Arguments of more than 100 KiB, and what put() has stored, are objects of the process that created the actor, and end with it. " +
			"Let the constructor load what is large, or let a process own it that stays, a detached actor for example"
	}
	return x
}
