package refs

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// sameTexts are texts that have the same numbers everywhere.
type sameTexts struct{}

func (sameTexts) TextsOf(o *Object) (site, maker string) {
	return string([]byte{byte(o.site)}), string([]byte{byte(o.maker)})
}

func (sameTexts) NumberOf(text string) uint32 {
	if text == "" {
		return 0
	}
	return uint32(text[0])
}

// successorOf restores a table's snapshot in a fresh table, by way of the bytes that a process sends.
func successorOf(t *testing.T, old *Table, effects Effects) *Table {
	t.Helper()
	b, err := msgpack.Marshal(old.Snapshot(sameTexts{}))
	if err != nil {
		t.Fatal(err)
	}
	s := new(Snapshot)
	if err := msgpack.Unmarshal(b, s); err != nil {
		t.Fatal(err)
	}
	tb := NewTable(old.self, old.job, old.addr, effects)
	if err := tb.Restore(s, sameTexts{}); err != nil {
		t.Fatal(err)
	}
	tb.Registering(old.unregistered) // as the session does when it registers the references again
	if err := tb.RestoreHeld(s); err != nil {
		t.Fatal(err)
	}
	return tb
}

// notInSnapshot are the fields of an object that do not come back, with the reason.
var notInSnapshot = map[string]string{
	"local":   "the references of a program end with its process",
	"pins":    "whoever pins an object pins it again: tasks, values, results",
	"lineage": "recipes are recorded again, and count what they need",
	"home":    "where a value lies is a hint, and the daemon knows better",
	"waitID":  "threads end with their process",
	"watch":   "threads end with their process, tasks wait again, borrowers' questions are handed over with their connections",
	"source":  "a task that is handed over names its results again",
	"copy":    "pins of stored copies end with their process",
	"recipe":  "recipes are recorded again; an object without one keeps the reason",
}

// flagsNotInSnapshot are the flags of an object that do not come back, with the reason.
var flagsNotInSnapshot = map[flags]string{
	lineageOnly: "recipes are recorded again",
	lost:        "the store is asked again",
}

// A new field of an object is either part of its snapshot, or its absence is a decision with a reason.
func TestSnapshot_EveryFieldOfAnObject_ComesBackOrIsNamed(t *testing.T) {
	inner := new(Object)
	values := map[string]any{
		"ID": ids.NewObject(7, ids.Owner{1}, ids.JobOf(1), 3), "state": Stored, "isError": true, "ownerAddr": "owner", "site": uint32(5), "maker": uint32(6),
		"home": uint8(1), "waitID": uint32(7), "local": int32(8), "pins": int32(9), "lineage": int32(10), "size": uint64(11), "value": []byte("value"),
		"fault": fault.New(fault.WorkerCrashed, "it crashed"), "contained": []*Object{inner}, "source": Source(job(1)), "copy": Copy(nothing{}),
		"watch": new(watch), "recipe": NewRecipe(job(2), nil), "borrowers": map[ids.Owner]struct{}{{4}: {}},
	}
	for i := range reflect.TypeFor[Object]().NumField() {
		f := reflect.TypeFor[Object]().Field(i)
		if f.Name == "flags" {
			continue // bit by bit, below
		}
		value, ok := values[f.Name]
		if !ok {
			t.Fatalf("this test has no value for the new field %s of Object", f.Name)
		}
		_, named := notInSnapshot[f.Name]
		got := restoredField(t, f, reflect.ValueOf(value))
		if back := !got.IsZero(); back == named {
			t.Errorf("field %s of an object comes back: %v; it is among those that do not: %v", f.Name, back, named)
		}
	}
	for name := range notInSnapshot {
		if _, ok := reflect.TypeFor[Object]().FieldByName(name); !ok {
			t.Errorf("an object has no field %s", name)
		}
	}
	for bit := flags(1); bit < flagsEnd; bit <<= 1 {
		o := &Object{ID: ids.NewObject(1, ids.Owner{1}, ids.JobOf(1), 1)}
		o.flags = bit
		tb := NewTable(ids.Owner{1}, ids.JobOf(1), "own", new(recorder))
		tb.Install(o)
		back := successorOf(t, tb, new(recorder)).Find(o.ID).has(bit)
		if _, named := flagsNotInSnapshot[bit]; back == named {
			t.Errorf("flag %b of an object comes back: %v; it is among those that do not: %v", bit, back, named)
		}
	}
}

// restoredField returns a field of an object that had this value before it was handed over.
func restoredField(t *testing.T, f reflect.StructField, value reflect.Value) reflect.Value {
	t.Helper()
	id := ids.NewObject(7, ids.Owner{1}, ids.JobOf(1), 3)
	if f.Name == "ownerAddr" {
		id = ids.NewObject(7, ids.Owner{2}, ids.JobOf(1), 3)
	}
	o := &Object{ID: id}
	switch f.Name { // what goes together
	case "value":
		o.state = Inline
	case "fault":
		o.state = Failed
	}
	field := func(o *Object) reflect.Value {
		v := reflect.ValueOf(o).Elem().FieldByIndex(f.Index)
		return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if f.Name != "ID" {
		field(o).Set(value)
	}
	tb := NewTable(ids.Owner{1}, ids.JobOf(1), "own", new(recorder))
	for _, in := range o.contained {
		in.ID = ids.NewObject(8, ids.Owner{1}, ids.JobOf(1), 3)
		tb.Install(in)
	}
	tb.Install(o)
	back := successorOf(t, tb, new(recorder)).Find(id)
	if back == nil {
		t.Fatalf("an object with a %s is not handed over", f.Name)
	}
	got := field(back)
	if got.IsZero() {
		return got
	}
	switch f.Name {
	case "contained":
		if len(back.contained) != 1 || back.contained[0].ID != o.contained[0].ID || back.contained[0].pins != 1 {
			t.Errorf("it contains %v", back.contained)
		}
	default:
		if !reflect.DeepEqual(got.Interface(), field(o).Interface()) {
			t.Errorf("field %s was %v and is %v", f.Name, field(o).Interface(), got.Interface())
		}
	}
	return got
}

// nothing is a copy in the store.
type nothing struct{}

func (nothing) InUse() bool { return false }

// notInTableSnapshot are the fields of a table that are empty after a restore, with the reason.
var notInTableSnapshot = map[string]string{
	"freed":        "CarryOut comes before a snapshot",
	"evicted":      "CarryOut comes before a snapshot",
	"unused":       "CarryOut comes before a snapshot",
	"todo":         "an event leaves nothing to look at",
	"waits":        "threads end with their process",
	"lastWait":     "threads end with their process",
	"oldest":       "recipes are recorded again",
	"newest":       "recipes are recorded again",
	"recipeBytes":  "recipes are recorded again",
	"lineageBytes": "recipes are recorded again",
	"ackWaits":     "threads end with their process",
	"ownerLate":    "it is found out again",
	"asking":       "the question is asked again",
	"patient":      "an infeasible object is pending again, and its owner is asked",
	"lateDrops":    "they are the program's, which ends with its process",
	"kept":         "what an object keeps is memory of the process",
	"lostWith":     "it is set only while an answer of the daemon is handled",
	"homes":        "where a value lies is a hint, and the daemon knows better",
	"lastGot":      "what a program looks at ends with its process",
}

// A new field of a table is either part of its snapshot, or its absence is a decision with a reason.
func TestSnapshot_EveryFieldOfATable_ComesBackOrIsNamed(t *testing.T) {
	tb, _ := busyTable(t)
	back := successorOf(t, tb, new(recorder))
	var compare func(x reflect.Type, old, restored reflect.Value)
	seen := map[string]bool{}
	compare = func(x reflect.Type, old, restored reflect.Value) {
		for i := range x.NumField() {
			f := x.Field(i)
			if f.Anonymous {
				compare(f.Type, old.Field(i), restored.Field(i))
				continue
			}
			seen[f.Name] = true
			_, named := notInTableSnapshot[f.Name]
			was, is := !empty(old.Field(i)), !empty(restored.Field(i))
			if !was && !slices.Contains([]string{"freed", "evicted", "unused", "todo"}, f.Name) {
				t.Errorf("this test does not use field %s of the table", f.Name)
			}
			if is == named {
				t.Errorf("field %s of the table comes back: %v; it is among those that do not: %v", f.Name, is, named)
			}
		}
	}
	compare(reflect.TypeFor[Table](), reflect.ValueOf(tb).Elem(), reflect.ValueOf(back).Elem())
	for name := range notInTableSnapshot {
		if !seen[name] {
			t.Errorf("a table has no field %s", name)
		}
	}
	// What came back is what there was.
	if a, b := tb.Snapshot(sameTexts{}), back.Snapshot(sameTexts{}); !sameSnapshot(a, b) {
		t.Errorf("the snapshot was\n%+v\nand that of the restored table is\n%+v", a, b)
	}
}

// empty reports whether a field has nothing in it.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

func sameSnapshot(a, b *Snapshot) bool {
	for _, s := range []*Snapshot{a, b} {
		slices.SortFunc(s.Objects, func(x, y ObjectSnapshot) int { return slices.Compare(x.ID, y.ID) })
	}
	return reflect.DeepEqual(a, b)
}

// busyTable returns a table that uses all of its fields.
func busyTable(t *testing.T) (*Table, *recorder) {
	t.Helper()
	tb, r := recorded()
	kept, a := tb.New(0, 1), stored(tb, 1, 100)
	if err := tb.Keep(kept.ID, func() {}); err != nil {
		t.Fatal(err)
	}
	p := stored(tb, 0, 1000)
	tb.Record(NewRecipe(job(1), []*Object{p}), []*Object{a})
	tb.Unref(p, 1) // only the recipe needs it
	tb.AddBorrower(a, ids.Owner{7})
	tb.SetHome(a, 2)
	x := foreign(tb, 5)
	tb.Got(x, make([]byte, 8))
	tb.Infeasible(x, noNode)
	tb.awaitFeasible(x)
	tb.Drop([]Drop{{Object: x.ID}})
	tb.WatchAll(wait.New().For(1, 1, false), []*Object{x})
	w := wait.New()
	tb.AwaitRegistered(w)
	tb.StopAwaitingRegistered(w)
	tb.AwaitRegistered(wait.New())
	tb.ReceiptWhenRegistered("worker", 1)
	tb.Retain("worker", []*Object{a})
	tb.Pin(a)
	tb.HoldResult(TaskSocket{Caller: ids.Owner{8}, Addr: "caller", Actor: true, Number: 5}, []*Object{a})
	tb.VerifyCopy(stored(tb, 0, 1))
	tb.VerifyCopy(stored(tb, 0, 1)) // after that which is under way
	tb.LostWith([][]byte{p.ID.Raw()}, []string{"node x"})
	if tb.of(x.ID.Owner()) == nil {
		t.Fatal("nothing is borrowed")
	}
	return tb, r
}

// A snapshot is validated, because it comes from a process whose memory may be corrupt. The table of
// a process that refuses a snapshot is unchanged.
func TestRestore_DamagedSnapshot_IsRefused(t *testing.T) {
	id, other := ids.NewObject(1, ids.Owner{1}, ids.JobOf(1), 1), ids.NewObject(2, ids.Owner{1}, ids.JobOf(1), 1)
	sound := func() *Snapshot {
		return &Snapshot{Version: SnapshotVersion, Objects: []ObjectSnapshot{{ID: id[:], State: Inline}}}
	}
	for what, damage := range map[string]func(s *Snapshot){
		"another version":                    func(s *Snapshot) { s.Version++ },
		"an id that is none":                 func(s *Snapshot) { s.Objects[0].ID = []byte("x") },
		"an object twice":                    func(s *Snapshot) { s.Objects = append(s.Objects, s.Objects[0]) },
		"a borrower's id that is short":      func(s *Snapshot) { s.Objects[0].HeldBy = [][]byte{[]byte("short")} },
		"an infeasible one without a reason": func(s *Snapshot) { s.Objects[0].State = Infeasible },
		"a state that does not exist":        func(s *Snapshot) { s.Objects[0].State = Failed + 1 },
		"a failure without a reason":         func(s *Snapshot) { s.Objects[0].State = Failed },
		"a reason that does not exist":       func(s *Snapshot) { s.Objects[0].Why = Freed + 1 },
		"an unknown object in a value":       func(s *Snapshot) { s.Objects[0].Contained = [][]byte{other[:]} },
		"an unknown object in a result": func(s *Snapshot) {
			s.Results = []ResultSnapshot{{Caller: make([]byte, ids.OwnerSize), Number: 1, Objects: [][]byte{other[:]}}}
		},
		"a caller whose id is too short": func(s *Snapshot) { s.Results = []ResultSnapshot{{Caller: []byte("x"), Number: 1}} },
		"a result without a number":      func(s *Snapshot) { s.Results = []ResultSnapshot{{Caller: make([]byte, ids.OwnerSize)}} },
		"two results with the same number": func(s *Snapshot) {
			x := ResultSnapshot{Caller: make([]byte, ids.OwnerSize), Number: 7}
			s.Results = []ResultSnapshot{x, x}
		},
		"an unknown argument":    func(s *Snapshot) { s.Retained = []RetainedSnapshot{{Objects: [][]byte{other[:]}}} },
		"a receipt of no answer": func(s *Snapshot) { s.Receipts = []ReceiptSnapshot{{Addr: "w"}} },
	} {
		s := sound()
		damage(s)
		tb, _ := recorded()
		if err := tb.Restore(s, sameTexts{}); err == nil {
			t.Errorf("%s is taken", what)
		}
		if owned, borrowed := tb.Len(); owned+borrowed != 0 {
			t.Errorf("%s: %d objects are restored from a snapshot that is refused", what, owned+borrowed)
		}
	}
	tb, _ := recorded()
	if err := tb.Restore(sound(), sameTexts{}); err != nil {
		t.Error(err)
	}
}
