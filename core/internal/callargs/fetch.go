package callargs

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// Found is an argument's value.
type Found = nodestore.Found

// Session is what a Fetcher asks of its session. The mutex is held.
type Session interface {
	// GetHere waits for an object as the program does, with the mutex released meanwhile.
	GetHere(id ids.Object) (Found, error)
	// Wake ends a wait.
	Wake(w *wait.Wait)
	// SendAll sends the answers that wait to share a write.
	SendAll()
	// Arm makes sure that a thread reads the sockets.
	Arm()
}

// Fetcher fetches the arguments of a worker's calls.
type Fetcher struct {
	Session Session
	Calls   *execute.Worker
	Store   *nodestore.Store
	Table   *refs.Table
	// MaxMisses is how often one call may miss an object that its owner says is there. The next time the call fails.
	MaxMisses int
}

// Fetch fetches the arguments of a call into args and deps, and returns which of them are
// lost: 0 stands for its arguments, i for its i-th reference. When something is lost or
// fails, args and deps are empty.
func (f *Fetcher) Fetch(k *execute.Call, args *Found, deps *[]Found) (lost []int, err error) {
	held := f.pin(k)
	fetch := func(i int, p frame.Place) Found {
		if err != nil {
			return Found{}
		}
		if f.toCome(k, p) {
			lost = append(lost, i)
			return Found{}
		}
		x, e1 := f.open(k, p)
		if nodestore.IsLost(e1) && p.Size > 0 {
			if k.Leased() || k.Actor == nil && f.mayDefer(k, p) {
				lost = append(lost, i)
				return Found{}
			}
			f.lookAgain(k, p)
			x, e1 = f.Session.GetHere(p.ID)
		}
		err = e1
		return x
	}
	*args = fetch(0, k.Args)
	for i, p := range k.Deps {
		*deps = append(*deps, fetch(i+1, p))
	}
	if err != nil || lost != nil {
		f.Drop(args, deps)
	}
	for _, v := range held {
		f.Store.Release(v)
	}
	return lost, err
}

// Drop releases arguments that were fetched in vain.
func (f *Fetcher) Drop(args *Found, deps *[]Found) {
	for _, x := range append(*deps, *args) {
		f.Store.Drop(x.View)
	}
	*args, *deps = Found{}, nil
}

// AtHand reports whether Fetch can return without waiting.
func (f *Fetcher) AtHand(k *execute.Call) bool {
	for i := range k.Deps {
		if f.far(&k.Deps[i]) {
			return false
		}
	}
	return !f.far(&k.Args)
}

// far reports whether an argument is not in this process.
func (f *Fetcher) far(p *frame.Place) bool {
	return p.Envelope == nil && (p.Size == 0 || !f.Store.Has(p.ID))
}

// pin brings all stored arguments of a call into memory at the same time. Fetch
// releases these pins when it has opened the arguments; opening reports what went wrong.
// The mutex is released meanwhile.
func (f *Fetcher) pin(k *execute.Call) (held []*localstore.View) {
	if len(k.Deps) == 0 {
		return nil
	}
	var asked []*localstore.Pinning
	ask := func(p *frame.Place) {
		if p.Envelope == nil && p.Size > 0 && !f.Store.Has(p.ID) {
			asked = append(asked, f.Store.AskArgument(p.ID))
		}
	}
	ask(&k.Args)
	for i := range k.Deps {
		ask(&k.Deps[i])
	}
	if len(asked) > 0 {
		f.Session.SendAll() // answers that wait to share a write do not wait for the store
	}
	for _, p := range asked {
		if v, err := f.Store.AwaitPlace(p, time.Time{}); err == nil {
			held = append(held, v)
		}
	}
	return held
}

// open finds an argument. The mutex is released while it asks the daemon or the owner.
func (f *Fetcher) open(k *execute.Call, p frame.Place) (Found, error) {
	if p.Envelope != nil {
		return Found{Envelope: p.Envelope}, nil
	}
	if p.Size == 0 { // not known to be ready when it was sent
		f.borrow(k, p)
		return f.Session.GetHere(p.ID)
	}
	v, err := f.Store.AwaitArgument(p.ID, time.Time{})
	if err != nil {
		return Found{}, err
	}
	b, n, err := f.Store.Open(v)
	if err != nil {
		f.Store.Unhold(v)
		return Found{}, err
	}
	return Found{Envelope: b, View: n}, nil
}

// borrow makes the call hold an argument until the call ends.
func (f *Fetcher) borrow(k *execute.Call, p frame.Place) *refs.Object {
	o := f.Table.Borrow(p.ID, p.Owner)
	f.Table.Pin(o)
	k.Hold(o)
	return o
}
