package frame

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Random frames of each kind are read as they were written, behind what the
// buffer had before. A frame that is cut anywhere is waited for; one whose
// length says that it ends there is refused.
func TestFrames_RandomOnes_AreReadAsTheyWereWritten(t *testing.T) {
	seed := rand.Uint64()
	d := die{rand.New(rand.NewPCG(seed, 0))}
	for range 40 {
		for _, op := range kinds() {
			want := d.message(op)
			b := want.appendTo([]byte("before"))
			if !bytes.HasPrefix(b, []byte("before")) {
				t.Fatalf("seed %d: the bytes before the frame have changed", seed)
			}
			b = b[len("before"):]
			var got message
			used, err := Each(b, func(f []byte) (err error) {
				got, err = read(f, want.Resume != nil)
				return err
			})
			if err != nil || used != len(b) || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %d of %d bytes, %v\nwrote %+v\nread  %+v", seed, used, len(b), err, want, got)
			}
			n := d.IntN(len(b))
			used, err = Each(b[:n], func([]byte) error { t.Errorf("seed %d: a part of a frame was handed out", seed); return nil })
			if used != 0 || err != nil {
				t.Fatalf("seed %d: of %d of %d bytes %d were used, %v", seed, n, len(b), used, err)
			}
			if n = d.IntN(len(b) - headBytes); !refuses(b[headBytes:headBytes+n], want.Resume != nil) {
				t.Fatalf("seed %d: the first %d of %d bytes were read as a frame of op %d", seed, n, len(b)-headBytes, op)
			}
		}
	}
}

// refuses reports whether a frame is taken for malformed.
func refuses(b []byte, generator bool) bool {
	_, err := read(b, generator)
	return errors.Is(err, wire.ErrBadFrame)
}

// Every cut of a frame of each kind is refused, not only random ones.
func TestFrames_CutAnywhere_AreRefused(t *testing.T) {
	d := die{rand.New(rand.NewPCG(1, 2))}
	for _, op := range kinds() {
		for range 4 {
			m := d.message(op)
			b := m.appendTo(nil)[headBytes:]
			for n := range min(len(b), 500) {
				if !refuses(b[:n], m.Resume != nil) {
					t.Fatalf("op %d: %d of %d bytes are read as a frame", op, n, len(b))
				}
			}
		}
	}
}

func TestEach_SeveralFrames_AreHandedOutInOrderUntilOneIsRefused(t *testing.T) {
	b := AppendQuit(AppendBlocked(AppendQuit(nil, 1), true), 2)
	whole := len(b)
	var ops []wire.Op
	bad := errors.New("bad")
	each := func(f []byte) error {
		_, op, _, err := Open(f)
		if err != nil {
			t.Error(err)
		}
		if ops = append(ops, op); len(ops) == 5 {
			return bad
		}
		return nil
	}
	if used, err := Each(append(b, 9, 0, 0, 0, 1), each); used != whole || err != nil {
		t.Errorf("%d of %d bytes, %v", used, whole, err)
	}
	if used, err := Each(b, each); used != len(AppendQuit(nil, 1)) || err != bad {
		t.Errorf("%d bytes before the frame that is refused, %v", used, err)
	}
	if want := []wire.Op{wire.OpQuit, wire.OpBlocked, wire.OpQuit, wire.OpQuit, wire.OpBlocked}; !reflect.DeepEqual(ops, want) {
		t.Errorf("%v, want %v", ops, want)
	}
}

func TestEach_LengthAboveTheCap_IsRefusedBeforeItsBytesCome(t *testing.T) {
	none := func([]byte) error { t.Error("a frame was handed out"); return nil }
	if used, err := Each([]byte{0, 0, 0, 4}, none); used != 0 || err != nil { // wire.MaxData
		t.Errorf("a frame of the largest length: %d, %v", used, err)
	}
	if used, err := Each([]byte{1, 0, 0, 4}, none); used != 0 || !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Errorf("a frame above that: %d, %v", used, err)
	}
}

// What a frame says beyond its bounds is refused, and never read as something else.
func TestFrames_ValuesBeyondTheirBounds_AreRefused(t *testing.T) {
	list := func(n int, v ...uint64) []byte {
		b := wire.AppendArray(nil, n)
		for _, x := range v {
			b = wire.AppendUint(b, x)
		}
		return b
	}
	op := func(op wire.Op, n int, rest ...[]byte) []byte {
		return append(list(n, uint64(op)), bytes.Join(rest, nil)...)
	}
	u := func(v uint64) []byte { return wire.AppendUint(nil, v) }
	inline := AppendInline(nil, nil)
	head := bytes.Join([][]byte{u(1), u(2), u(3)}, nil)
	template := func(t Template) []byte { return AppendTemplate(nil, &t)[headBytes:] }
	flow := template(Template{})
	flow = append(flow[:len(flow)-2], append(list(4, 0, 1, 1, 1), 0xa0)...)
	shortFlow := template(Template{})
	shortFlow = append(shortFlow[:len(shortFlow)-2], append(list(3, 1, 1, 1), 1, 0xa0)...)
	for what, b := range map[string][]byte{
		"an op that does not exist":                  op(6, 2, u(1)),
		"an op of more than a byte":                  list(2, 256+uint64(wire.OpQuit), 1),
		"the op 0":                                   op(0, 2, u(1)),
		"too few fields":                             op(wire.OpTaken, 2, u(1)),
		"too many fields":                            op(wire.OpQuit, 3, u(1), u(1)),
		"a sequence number of more than 32 bits":     op(wire.OpQuit, 2, u(1<<32)),
		"a sequence number to give back":             op(wire.OpReturned, 2, list(1, 1<<32)),
		"a flag that is none":                        op(wire.OpHold, 3, wire.AppendStr(nil, "g"), u(2)),
		"a reference beyond the largest call's":      op(wire.OpLost, 3, u(1), list(1, MaxReferences+1)),
		"more lost references than a call has":       op(wire.OpLost, 3, u(1), list(MaxReferences+2, make([]uint64, MaxReferences+2)...)),
		"more references than a call may have":       op(wire.OpTask, 6, head, inline, wire.AppendArray(nil, MaxReferences+1), bytes.Repeat(inline, MaxReferences+1)),
		"a place of an argument that does not exist": op(wire.OpTask, 6, head, list(2, 2), u(0), list(0)),
		"an inline argument of three fields":         op(wire.OpTask, 6, head, list(3, 0), wire.AppendBin(nil, nil), u(0), list(0)),
		"a stored argument of two fields":            op(wire.OpTask, 6, head, list(2, 1), wire.AppendBin(nil, make([]byte, ids.ObjectSize)), list(0)),
		"an object id of 27 bytes":                   op(wire.OpTask, 6, head, list(4, 1), wire.AppendBin(nil, make([]byte, 27)), u(1), wire.AppendStr(nil, ""), list(0)),
		"a result that is left out of no call":       op(wire.OpTask, 7, head, inline, list(0), list(1, returns)),
		"more results left out than there are":       op(wire.OpTask, 7, head, inline, list(0), list(returns+1, 0, 0, 0, 0, 0, 0)),
		"a function's id of 15 bytes":                template(Template{FID: make([]byte, 15)}),
		"a kind of templates that does not exist":    template(Template{Kind: KindMethod + 1}),
		"a number of results below 0":                template(Template{Returns: -1}),
		"a flow of no mode":                          flow,
		"a flow of three fields":                     shortFlow,
		"a mode of flows that does not exist":        template(Template{Flow: Flow{Mode: FlowDynamic + 1}}),
		"an answer with a number and no flag for it": op(wire.OpReply, 6, u(1), u(0), u(3), u(4), list(0)),
		"an answer with the flag and no number":      op(wire.OpReply, 5, u(1), u(wire.ReplyHeld), u(3), list(0)),
		"an answer that is held under number 0":      op(wire.OpReply, 6, u(1), u(wire.ReplyHeld), u(3), u(0), list(0)),
		"an item with a number and no flag for it":   op(wire.OpItem, 6, u(1), u(0), u(3), u(4), list(3, wire.PlaceStore, 9), list(0)),
		"an item with the flag and no number":        op(wire.OpItem, 5, u(1), u(2), u(wire.ReplyHeld), list(3, wire.PlaceStore, 9), list(0)),
		"an item that is held under number 0":        op(wire.OpItem, 6, u(1), u(2), u(wire.ReplyHeld), u(0), list(3, wire.PlaceStore, 9), list(0)),
		"a result of two fields":                     op(wire.OpItem, 5, head, list(2, 1, 1)),
		"a place of a result that does not exist":    op(wire.OpItem, 5, head, list(3, 3, 0), list(0)),
		"references inside a result that is left out": op(wire.OpItem, 5, head, list(3, wire.PlaceHad, 0), list(1),
			AppendContained(nil, &ids.Object{}, "")),
		"a reference of three fields": op(wire.OpItem, 5, head, list(3, wire.PlaceStore, 9), list(1),
			wire.AppendArray(nil, 3), wire.AppendBin(nil, make([]byte, ids.ObjectSize)), wire.AppendStr(nil, ""), u(1)),
		"a reference whose id has 3 bytes": op(wire.OpItem, 5, head, list(3, wire.PlaceStore, 9), list(1),
			wire.AppendArray(nil, 2), wire.AppendBin(nil, make([]byte, 3)), wire.AppendStr(nil, "")),
	} {
		if !refuses(b, false) {
			t.Errorf("%s: the frame is not refused", what)
		}
	}
	if short := op(wire.OpTask, 7, head, inline, list(0), list(2, 1, 1), u(1)); !refuses(short, true) {
		t.Error("the state of a generator with two fields is not refused")
	}
}

// A head that is longer than encoders write it says the same.
func TestOpen_LongFormOfTheHead_IsRead(t *testing.T) {
	for _, head := range [][]byte{{0xdc, 0, 2, 5}, {0xdd, 0, 0, 0, 2, 5}, {0x92, 0xcc, 5}, {0xdc, 0, 2, 0xcd, 0, 5}} {
		got, err := read(append(head, 7), false)
		if want := (message{Op: wire.OpQuit, Seq: 7}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("% x: %+v, %v", head, got, err)
		}
	}
}

// The bounds themselves are allowed.
func TestFrames_ValuesAtTheirBounds_AreRead(t *testing.T) {
	lost := make([]int, MaxReferences+1)
	lost[0] = MaxReferences
	for _, want := range []message{
		{Op: wire.OpLost, Seq: math.MaxUint32, Lost: lost},
		{Op: wire.OpTask, Task: Task{Args: Place{Envelope: []byte{}}, Deps: slicesOf(Place{Envelope: []byte{}}, MaxReferences), More: true},
			Had: map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}},
		{Op: wire.OpTask, Task: Task{Args: Place{Envelope: []byte{}}, More: true}},
		{Op: wire.OpTaken, Number: All},
		{Op: wire.OpTemplate, Template: Template{Kind: KindMethod, FID: []byte{}, Returns: math.MaxInt32, MaxCalls: -1, Flow: Flow{Mode: FlowDynamic, Limit: All}}},
	} {
		if got, err := read(want.appendTo(nil)[headBytes:], false); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("op %d: %v", want.Op, err)
		}
	}
}

func slicesOf(p Place, n int) []Place {
	list := make([]Place, n)
	for i := range list {
		list[i] = p
	}
	return list
}

func TestIsStored_OnlyAResultInTheStore(t *testing.T) {
	if !IsStored(AppendStoredResult(nil, 5)) || IsStored(AppendInlineResult(nil, 5)) || IsStored(AppendHadResult(nil)) {
		t.Error("a result is taken for another kind")
	}
}

func TestPointer_WrittenAndCut_IsTheSameOrRefused(t *testing.T) {
	want := Pointer{ID: ids.NewObject(7, ids.Owner{1}, ids.JobOf(2), 3), Owner: "/a/socket", Size: 1 << 40, Brief: []byte("short")}
	b := AppendPointer(nil, &want)
	if got, err := ReadPointer(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if _, err := ReadPointer(b[:n]); !errors.Is(err, wire.ErrBadFrame) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	b[2]--
	if _, err := ReadPointer(append(b[:3], b[4:]...)); !errors.Is(err, wire.ErrBadFrame) {
		t.Errorf("an object id of 27 bytes: %v", err)
	}
}

// Encoders append to a buffer that has room, and readers look at the frame, without allocating.
func TestFrames_OfAPlainCall_AllocateNothing(t *testing.T) {
	buffer, env := make([]byte, 0, 1<<10), []byte("value")
	id := ids.NewObject(7, ids.Owner{1}, ids.JobOf(2), 3)
	failed := false
	n := testing.AllocsPerRun(100, func() {
		b, at := BeginTask(buffer, 1, 2, 3, false)
		b = AppendCount(AppendStored(b, &id, 1, "owner"), 0)
		b = End(b, at)
		r, op, fields, err := Open(b[headBytes:])
		failed = failed || op != wire.OpTask || err != nil
		task, err := ReadTask(&r, fields)
		failed = failed || task.Args.Size != 1 || err != nil
		result := AppendCount(append(AppendInlineResult(b, len(env)), env...), 0)
		answer := AppendReply(result[len(result):], Reply{Seq: 1, Micros: 5, Results: 1}, result[len(b):])
		r, _, fields, _ = Open(answer[headBytes:])
		reply, err := ReadReply(&r, fields)
		x, err2 := ReadResult(&r)
		failed = failed || reply.Seq != 1 || len(x.Envelope) != len(env) || err != nil || err2 != nil
	})
	if failed {
		t.Error("a frame is not read as it was written")
	}
	if n > 1 { // the owner's address
		t.Errorf("%v allocations for a call and its answer, want 1", n)
	}
}
