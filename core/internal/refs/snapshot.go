package refs

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// SnapshotVersion is the version of Snapshot. A process restores its own version only.
const SnapshotVersion = 3

// Snapshot is what another process needs to continue a table. What this
// process's program, tasks and recipes hold is not part of it: the code that restores those
// adds their references to the restored table, and then calls Sweep. References that owners
// have not acknowledged are not part of it either: the other process registers them again.
// TestSnapshot_* name each field that is not part of it, with the reason.
type Snapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Version  int
	Next     uint64 // count of the newest object
	Objects  []ObjectSnapshot
	Results  []ResultSnapshot   // that their callers have not confirmed
	Retained []RetainedSnapshot // arguments, for workers that have not registered what they keep
	Receipts []ReceiptSnapshot  // that wait for registrations
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

// ResultSnapshot is an answer whose caller has not confirmed it.
type ResultSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Caller   []byte   // this and the next three: the task socket on which it was sent
	Addr     string
	Actor    bool
	Socket   uint64
	Number   uint64 // of the answer
	Objects  [][]byte
}

// RetainedSnapshot are the arguments of a call whose worker may not have registered yet what it keeps of them.
type RetainedSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Addr     string
	Objects  [][]byte
}

// ReceiptSnapshot is a message that still has to tell a worker that the references inside its answer are registered.
type ReceiptSnapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Addr     string
	Number   uint64 // of the answer
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
	s := &Snapshot{Version: SnapshotVersion, Next: t.next}
	t.Each(func(o *Object) bool {
		s.Objects = append(s.Objects, o.snapshot(texts))
		return true
	})
	t.EachUnconfirmed(func(on TaskSocket, number uint64, list []*Object) {
		x := ResultSnapshot{Caller: on.Caller[:], Addr: on.Addr, Actor: on.Actor, Socket: on.Number, Number: number, Objects: rawAll(list)}
		s.Results = append(s.Results, x)
	})
	for _, r := range t.retained {
		s.Retained = append(s.Retained, RetainedSnapshot{Addr: r.worker, Objects: rawAll(r.list)})
	}
	for _, r := range t.receipts {
		s.Receipts = append(s.Receipts, ReceiptSnapshot{Addr: r.worker, Number: r.answer})
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

// Restore adds the objects of a snapshot to the table. The snapshot is validated
// first, because it comes from a process whose memory may be corrupt. RestoreHeld
// follows.
func (t *Table) Restore(s *Snapshot, texts Texts) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("restore a table of references: %w", err)
	}
	t.SkipTo(s.Next)
	for i := range s.Objects {
		t.restore(&s.Objects[i], texts)
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
	return nil
}

// RestoreHeld adds to a table with the snapshot's objects what the table holds for other
// processes, and asks these processes. The connections to them must be restored before.
// References that must be registered again must be counted before (Registering), because
// receipts wait for them.
func (t *Table) RestoreHeld(s *Snapshot) error {
	// The callers' task sockets end with the process that sent the answers.
	broken := map[TaskSocket]bool{}
	for _, x := range s.Results {
		list, err := t.Named(x.Objects)
		if err != nil {
			return fmt.Errorf("restore a result that is not confirmed: %w", err)
		}
		for _, o := range list {
			t.Pin(o)
		}
		on := TaskSocket{Caller: ids.Owner(x.Caller), Addr: x.Addr, Actor: x.Actor, Number: x.Socket}
		t.holdAnswer(on, x.Number, list)
		t.answers = max(t.answers, x.Number)
		broken[on] = true
	}
	for on := range broken {
		t.CallerLost(on)
	}
	for _, x := range s.Retained {
		list, err := t.Named(x.Objects)
		if err != nil {
			return fmt.Errorf("restore the arguments that are retained for %s: %w", x.Addr, err)
		}
		t.Retain(x.Addr, list)
	}
	for _, x := range s.Receipts {
		t.ReceiptWhenRegistered(x.Addr, x.Number)
	}
	return nil
}

// restore adds an object, whose snapshot is valid.
func (t *Table) restore(x *ObjectSnapshot, texts Texts) {
	f := Facts{
		State: x.State, IsError: x.IsError, Asked: x.Asked, Seen: x.Seen, OwnerAddr: x.OwnerAddr, Size: x.Size, Value: x.Value,
		Site: texts.NumberOf(x.Site), Maker: texts.NumberOf(x.Maker),
	}
	if x.Fault != nil {
		f.Fault = &fault.Error{Code: fault.Code(x.Fault.Code), Message: x.Fault.Message, Task: x.Fault.Task}
	}
	o := Known(ids.Object(x.ID), f)
	o.set(shared, x.Shared)
	if x.Why != Whole {
		t.SetRecipe(o, NoRecipe(x.Why))
	}
	if x.Verifying {
		t.VerifyLater(o)
	}
	t.Install(o)
	for _, p := range x.HeldBy {
		t.AddBorrower(o, ids.Owner(p))
	}
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
