package client

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// capturing is a session whose state a test makes up, and of which a snapshot is
// captured then. Nothing of that state is real, so it is taken away before the session ends.
type capturing struct {
	*Client
	t    *testing.T
	tmpl *Template // of tasks
	meth *Template // of calls
}

func captured(t *testing.T) *capturing {
	t.Helper()
	c := startDaemon(t).driver()
	x := &capturing{Client: c, t: t}
	task, meth := template(t, c, "f"), method(t, c, 0)
	c.mu.Lock()
	x.tmpl, x.meth = c.submit.Templates[task], c.submit.Templates[meth]
	t.Cleanup(func() { // before the session's own end
		c.submit.Actors, c.submit.Leases, c.submit.Delayed = map[ids.Actor]*submit.Actor{}, map[uint64]*submit.Lease{}, nil
		c.mu.Unlock()
	})
	return x
}

// A snapshot has the state of each object, and all that is known of an object in that state.
func TestCapture_Objects_EachStateIsWrittenDown(t *testing.T) {
	x := captured(t)
	friend, stranger := ids.Owner{5}, ids.Owner{6}
	make1 := func(s refs.State, change func(*refs.Facts)) *refs.Object {
		o := x.table.New(1, 1)
		inState(o, s)
		if change != nil {
			alter(o, change)
		}
		return o
	}
	failed := &fault.Error{Code: fault.WorkerCrashed, Message: "it died", Task: "f"}
	pending := make1(refs.Pending, nil)
	sought := make1(refs.Pending, func(f *refs.Facts) { f.Size = 9 })
	inline := make1(refs.Inline, func(f *refs.Facts) { f.Value, f.Size, f.IsError = []byte("value"), 5, true })
	stored := make1(refs.Stored, func(f *refs.Facts) { f.Value, f.Size = []byte("argument"), 8 })
	infeasible := make1(refs.Infeasible, func(f *refs.Facts) { f.Fault = failed })
	bad := make1(refs.Failed, func(f *refs.Facts) { f.Fault = failed })
	unrecoverable := make1(refs.Stored, nil)
	x.table.SetRecipe(unrecoverable, refs.NoRecipe(refs.Exhausted))
	x.table.AddBorrower(inline, friend)
	x.table.AddBorrower(inline, stranger)
	x.table.Contain(stored, inline)
	borrowed := x.table.Borrow(ids.NewObject(4, ids.Owner{9}, x.info.Job, 1), "its owner")
	borrowed.MarkAsked()

	v := &capture{c: x.Client}
	got := map[*refs.Object]refs.ObjectSnapshot{}
	v.snapshot.Served = make([]handover.Served, 1)
	v.references([]transport.DetachedPeer{{Who: friend}})
	for _, o := range []*refs.Object{pending, sought, inline, stored, infeasible, bad, unrecoverable, borrowed} {
		y := writtenObject(t, &v.snapshot, o.ID)
		if got[o] = y; ids.Object(y.ID) != o.ID || y.OwnerAddr != o.OwnerAddr() || y.Size != o.Size() || y.Asked != o.Asked() || y.IsError != o.IsError() {
			t.Errorf("of %+v the snapshot says %+v", o, y)
		}
	}
	for what, ok := range map[string]bool{
		"an object that is computed is not looked for":      got[pending].State == refs.Pending && !got[pending].Verifying,
		"one whose copy is looked for says so":              got[sought].State == refs.Pending && got[sought].Verifying,
		"a value is written down":                           got[inline].State == refs.Inline && string(got[inline].Value) == "value",
		"of borrowers those with a connection are":          len(got[inline].HeldBy) == 1 && ids.Owner(got[inline].HeldBy[0]) == friend,
		"the value of a stored argument is, too":            got[stored].State == refs.Stored && string(got[stored].Value) == "argument",
		"so is what a value contains":                       len(got[stored].Contained) == 1 && ids.Object(got[stored].Contained[0]) == inline.ID,
		"what cannot be scheduled here the successor tries": got[infeasible].State == refs.Pending && got[infeasible].Fault == nil && got[infeasible].Value == nil,
		"a failure is written down":                         got[bad].State == refs.Failed && *got[bad].Fault == wire.FaultBody{Code: string(fault.WorkerCrashed), Message: "it died", Task: "f"},
		"an ordinary object has no failure":                 got[inline].Fault == nil && got[stored].Fault == nil && got[pending].Fault == nil,
		"why one cannot be computed again is written":       got[unrecoverable].Why == refs.Exhausted && got[stored].Why == refs.Whole,
		"what is borrowed and was asked for says so":        got[borrowed].Asked && got[borrowed].OwnerAddr == "its owner",
		"an object that has no copy has no value or size":   got[pending].Value == nil && got[pending].Size == 0,
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
}

// What a worker holds for others goes to its successor: results whose caller has not registered the references inside,
// and the arguments of calls whose worker has not registered what it keeps.
func TestCapture_HeldForOthers_IsWrittenDown(t *testing.T) {
	x := captured(t)
	a, b := x.table.New(1, 1), x.table.New(1, 1)
	caller := ids.Owner{4}
	answer := x.table.HoldResult(refs.TaskSocket{Caller: caller, Addr: "caller", Actor: true, Number: 5}, []*refs.Object{a})
	x.table.Retain("worker", []*refs.Object{b, a})
	x.table.Registering(1) // an owner is silent
	x.table.ReceiptWhenRegistered("worker", 7)
	v := &capture{c: x.Client}
	v.references(nil)
	w := &v.snapshot
	if len(w.Refs.Receipts) != 1 || w.Refs.Receipts[0].Addr != "worker" || w.Refs.Receipts[0].Number != 7 {
		t.Errorf("receipts: %+v", w.Refs.Receipts)
	}
	want := []refs.ResultSnapshot{{Caller: caller[:], Addr: "caller", Actor: true, Socket: 5, Number: answer, Objects: [][]byte{a.ID[:]}}}
	if !reflect.DeepEqual(w.Refs.Results, want) {
		t.Errorf("held: %+v, want %+v", w.Refs.Results, want)
	}
	if len(w.Refs.Retained) != 1 || w.Refs.Retained[0].Addr != "worker" || !slices.EqualFunc(w.Refs.Retained[0].Objects, []ids.Object{b.ID, a.ID}, sameID) {
		t.Errorf("not registered: %+v", w.Refs.Retained)
	}
}

// writtenObject returns what a snapshot says of an object.
func writtenObject(t *testing.T, w *handover.Snapshot, id ids.Object) refs.ObjectSnapshot {
	t.Helper()
	i := slices.IndexFunc(w.Refs.Objects, func(x refs.ObjectSnapshot) bool { return ids.Object(x.ID) == id })
	if i < 0 {
		t.Fatalf("the snapshot says nothing of object %s", id)
	}
	return w.Refs.Objects[i]
}

func sameID(b []byte, id ids.Object) bool { return bytes.Equal(b, id[:]) }
