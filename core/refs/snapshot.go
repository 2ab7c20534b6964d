package refs

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// SnapshotVersion is the version of Snapshot. A process restores its own version only.
const SnapshotVersion = 1

// Snapshot is what another process needs to go on with a table. What this
// process's program, tasks and recipes hold is not part of it: whoever has those
// tells the restored table, and then calls Sweep. TestSnapshot_* name each field
// that is not part of it, with the reason.
type Snapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack     struct{} `msgpack:",as_array"`
	Version      int
	Next         uint64 // count of the newest object
	Objects      []ObjectSnapshot
	Results      []ResultSnapshot   // that their callers have not confirmed
	Retained     []RetainedSnapshot // arguments, for workers that have not registered what they keep
	Receipts     []ReceiptSnapshot  // that wait for registrations
	LookedFor    []CallerSnapshot   // callers whose task sockets broke
	Unregistered int                // references that were sent to owners and are not acknowledged
}

// ObjectSnapshot is one object. IDs are raw.
type ObjectSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack  struct{} `msgpack:",as_array"`
	ID        []byte
	OwnerAddr string
	State     State
	IsError   bool
	Asked     bool
	Size      uint64
	Value     []byte
	Fault     *wire.FaultBody
	Contained [][]byte
	HeldBy    [][]byte // processes that borrow it
	Site      string
	Maker     string
	Verifying bool // its copy is being looked for
	Why       Why  // it cannot be computed again
	Seen      bool
	Shared    bool
}

// ResultSnapshot is a result whose caller has not confirmed it.
type ResultSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Caller   []byte
	Task     []byte
	Objects  [][]byte
}

// RetainedSnapshot is what a call took whose worker may not have registered what it keeps of that.
type RetainedSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Addr     string
	Objects  [][]byte
}

// ReceiptSnapshot is what tells a worker that the references inside a task's result are registered.
type ReceiptSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Addr     string
	Task     []byte
}

// CallerSnapshot is a caller that is looked for.
type CallerSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Addr     string
	Caller   []byte
}

// Texts are the texts of sites and makers, which have other numbers in another process.
type Texts interface {
	// TextsOf returns the texts of an object's site and maker.
	TextsOf(o *Object) (site, maker string)
	// NumberOf returns the number of a text here.
	NumberOf(text string) uint32
}

// Snapshot returns all that Restore needs.
func (t *Table) Snapshot(texts Texts) *Snapshot {
	s := &Snapshot{Version: SnapshotVersion, Next: t.next, Unregistered: t.unregistered}
	t.Each(func(o *Object) bool {
		s.Objects = append(s.Objects, o.snapshot(texts))
		return true
	})
	t.EachUnconfirmed(func(caller ids.Owner, task ids.Task, list []*Object) {
		s.Results = append(s.Results, ResultSnapshot{Caller: caller[:], Task: task[:], Objects: rawAll(list)})
	})
	for _, r := range t.retained {
		s.Retained = append(s.Retained, RetainedSnapshot{Addr: r.worker, Objects: rawAll(r.list)})
	}
	for _, r := range t.receipts {
		s.Receipts = append(s.Receipts, ReceiptSnapshot{Addr: r.worker, Task: r.task[:]})
	}
	for addr, caller := range t.lookedFor {
		s.LookedFor = append(s.LookedFor, CallerSnapshot{Addr: addr, Caller: caller[:]})
	}
	return s
}

func (o *Object) snapshot(texts Texts) ObjectSnapshot {
	x := ObjectSnapshot{
		ID: raw(o.ID), OwnerAddr: o.ownerAddr, State: o.state, IsError: o.isError, Asked: o.has(asked), Seen: o.has(seen), Shared: o.has(shared),
		Size: o.size, Contained: rawAll(o.contained), Verifying: o.Verifying(),
	}
	x.Site, x.Maker = texts.TextsOf(o)
	if o.recipe != nil {
		x.Why = o.recipe.why
	}
	switch o.state {
	case Inline, Stored: // a Stored object has a value when it went to the store as an argument
		x.Value = o.value
	case Infeasible: // the scheduler says so again, or the owner, who is asked again
		x.State, x.Asked = Pending, !o.Owned()
	case Failed:
		x.Fault = &wire.FaultBody{Code: string(o.fault.Code), Message: o.fault.Message, Task: o.fault.Task}
	}
	for p := range o.borrowers {
		x.HeldBy = append(x.HeldBy, p[:])
	}
	return x
}

func rawAll(list []*Object) (raws [][]byte) {
	for _, o := range list {
		raws = append(raws, raw(o.ID))
	}
	return raws
}

// Restore adds what a snapshot has to the table. A snapshot may be restored in
// parts, the objects first. Nothing of it is trusted.
func (t *Table) Restore(s *Snapshot, texts Texts) error {
	if s.Version != SnapshotVersion {
		return fmt.Errorf("restore a table of references: its version is %d, and this process knows version %d", s.Version, SnapshotVersion)
	}
	t.SkipTo(s.Next)
	t.unregistered += s.Unregistered
	for i := range s.Objects {
		if err := t.restore(&s.Objects[i], texts); err != nil {
			return err
		}
	}
	for i := range s.Objects {
		x := &s.Objects[i]
		inner, err := t.Named(x.Contained)
		if err != nil {
			return fmt.Errorf("restore what object %x contains: %w", x.ID, err)
		}
		outer := t.Find(ids.Object(x.ID))
		for _, in := range inner {
			t.Contain(outer, in)
		}
	}
	for _, x := range s.Results {
		list, err := t.Named(x.Objects)
		if err == nil && (len(x.Caller) != ids.OwnerSize || len(x.Task) != ids.TaskSize) {
			err = fmt.Errorf("the ids of its caller and task have %d and %d bytes", len(x.Caller), len(x.Task))
		}
		if err != nil {
			return fmt.Errorf("restore a result that is not confirmed: %w", err)
		}
		for _, o := range list {
			t.Pin(o)
		}
		t.HoldResult(ids.Owner(x.Caller), ids.Task(x.Task), list)
	}
	for _, x := range s.Retained {
		list, err := t.Named(x.Objects)
		if err != nil {
			return fmt.Errorf("restore the arguments that are retained for %s: %w", x.Addr, err)
		}
		t.Retain(x.Addr, list)
	}
	for _, x := range s.Receipts {
		if len(x.Task) != ids.TaskSize {
			return fmt.Errorf("restore a receipt for %s: its task's id has %d bytes", x.Addr, len(x.Task))
		}
		t.ReceiptWhenRegistered(x.Addr, ids.Task(x.Task))
	}
	for _, x := range s.LookedFor {
		if len(x.Caller) != ids.OwnerSize {
			return fmt.Errorf("restore a caller at %s: its id has %d bytes", x.Addr, len(x.Caller))
		}
		t.CallerLost(ids.Owner(x.Caller), x.Addr)
	}
	return nil
}

func (t *Table) restore(x *ObjectSnapshot, texts Texts) error {
	id, err := ids.ParseObject(x.ID)
	switch {
	case err != nil:
		return fmt.Errorf("restore an object: %w", err)
	case x.State > Failed:
		return fmt.Errorf("restore object %s: it is in state %d, which does not exist", id, x.State)
	case (x.State == Failed || x.State == Infeasible) && x.Fault == nil:
		return fmt.Errorf("restore object %s: it has failed for no reason", id)
	case x.Why > Freed:
		return fmt.Errorf("restore object %s: it cannot be computed again for reason %d, which does not exist", id, x.Why)
	}
	f := Facts{
		State: x.State, IsError: x.IsError, Asked: x.Asked, Seen: x.Seen, OwnerAddr: x.OwnerAddr, Size: x.Size, Value: x.Value,
		Site: texts.NumberOf(x.Site), Maker: texts.NumberOf(x.Maker),
	}
	if x.Fault != nil {
		f.Fault = &fault.Error{Code: fault.Code(x.Fault.Code), Message: x.Fault.Message, Task: x.Fault.Task}
	}
	o := Known(id, f)
	o.set(shared, x.Shared)
	if x.Why != Whole {
		t.SetRecipe(o, NoRecipe(x.Why))
	}
	if x.Verifying {
		t.VerifyLater(o)
	}
	t.Install(o)
	for _, p := range x.HeldBy {
		if len(p) == ids.OwnerSize {
			t.AddBorrower(o, ids.Owner(p))
		}
	}
	return nil
}

// Named returns objects of the table by their raw ids.
func (t *Table) Named(list [][]byte) (named []*Object, err error) {
	for _, b := range list {
		id, err := ids.ParseObject(b)
		if err != nil {
			return nil, err
		}
		o := t.Find(id)
		if o == nil {
			return nil, fmt.Errorf("object %s was not handed over", id)
		}
		named = append(named, o)
	}
	return named, nil
}
