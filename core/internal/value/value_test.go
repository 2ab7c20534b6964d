package value

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

func envelope(e Encoded) []byte { return store.AppendEnvelope(nil, e.Format, e.Meta, e.Bufs...) }

func roundTrip[T any](t *testing.T, v T) {
	t.Helper()
	e, err := Encode(v, References{})
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	got, err := Decode[T](envelope(e), Reader{})
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%#v came back as %#v (%v)", v, got, err)
	}
}

type point struct {
	X     int     `msgpack:"x"`
	Y     float64 `json:"y,omitempty"`
	Extra any     `msgpack:"extra"`
}

type Base struct {
	Kind string
	X    int
}

type derived struct {
	*Base
	point
	Kind int
}

func TestValue_GoTypes_ComeBackEqual(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(-3), 3000)
	roundTrip(t, 42)
	roundTrip(t, int64(math.MinInt64))
	roundTrip(t, uint64(math.MaxUint64))
	roundTrip(t, 1.5)
	roundTrip(t, float32(0.1))
	roundTrip(t, true)
	roundTrip(t, "text")
	roundTrip(t, strings.Repeat("é", 70000))
	roundTrip(t, []byte("bytes"))
	roundTrip(t, [3]byte{1, 2, 3})
	roundTrip(t, []string{"a", "b"})
	roundTrip(t, make([]bool, 70000))
	roundTrip(t, map[string]int{"a": 1, "b": -1})
	roundTrip(t, map[int8]string{1: "x"})
	roundTrip(t, map[any]any{int64(1): "x", "k": true, 2.5: nil})
	roundTrip(t, []point{{1, 2, nil}, {3, 0, map[string]any{"k": []any{int64(1)}}}})
	roundTrip(t, &point{X: 7})
	roundTrip(t, derived{&Base{X: 1}, point{X: 0, Y: 2}, 3})
	roundTrip[any](t, nil)
	roundTrip(t, 3+4i)
	roundTrip(t, complex64(1i))
	roundTrip(t, huge)
	roundTrip(t, *big.NewInt(5))
	roundTrip(t, []*big.Int{huge, big.NewInt(1), nil})
	roundTrip(t, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	roundTrip(t, []time.Duration{-3 * time.Microsecond, 200 * 24 * time.Hour})
	roundTrip(t, map[string]any{"big": huge, "bytes": []byte{1}, "none": nil, "list": []any{}, "max": uint64(math.MaxUint64), "big text": strings.Repeat("x", 300)})
}

func TestArgs_PositionalNamedAndSlots_AsPythonReadsThem(t *testing.T) {
	e, err := Args([]any{1, nil}, map[string]any{"k": "v"}, []any{1}, References{})
	if err != nil || e.Format != store.FormatArgsMsgpack {
		t.Fatal(e.Format, err)
	}
	got, err := store.DecodePlain(e.Meta)
	want := []any{[]any{int64(1), nil}, map[string]any{"k": "v"}, []any{int64(1)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	a, _ := store.NewNDArray([]int32{1, 2})
	e, err = Args([]any{a}, nil, nil, References{})
	if err != nil || e.Format != store.FormatArgs || len(e.Bufs) != 1 {
		t.Fatal(e.Format, err)
	}
	found, err := unpickle(e.Meta, e.Bufs, &Reader{})
	if err != nil || len(found.([]any)) != 2 {
		t.Errorf("without references the arguments are %v, %v", found, err)
	}
}

type holder struct{ id ids.Object }

func TestEncode_References_InTheOrderOfThePickle(t *testing.T) {
	refs := References{Package: reflect.TypeFor[holder]().PkgPath(), Object: func(p any) (ids.Object, error) {
		if h, ok := p.(*holder); ok {
			return h.id, nil
		}
		return ids.Object{}, errors.New("no reference")
	}}
	a, b := &holder{ids.Object{1}}, &holder{ids.Object{2}}
	e, err := Encode([]any{a, map[string]any{"b": b}, a}, refs)
	if err != nil || e.Format != store.FormatPickleRefs || !reflect.DeepEqual(e.Refs, []ids.Object{a.id, b.id, a.id}) {
		t.Fatal(e.Format, e.Refs, err)
	}
	var seen []Ref
	r := Reader{
		Table: func(meta []byte) ([]byte, error) { return meta, nil },
		Assign: func(dst reflect.Value, ref Ref) bool {
			seen = append(seen, ref)
			dst.Set(reflect.ValueOf(int64(ref)))
			return true
		},
	}
	got, err := Decode[any](envelope(e), r)
	if err != nil || !reflect.DeepEqual(got, []any{int64(0), map[string]any{"b": int64(1)}, int64(2)}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Encode(map[string]any{"x": &point{}}, refs); err == nil || !strings.Contains(err.Error(), `["x"]: no reference`) {
		t.Errorf("a value that cannot travel: %v", err)
	}
	if _, err := Decode[any](envelope(e), Reader{}); !errors.Is(err, store.ErrNotPlain) {
		t.Errorf("references for a reader that knows none: %v", err)
	}
}

func TestUnpickle_LoneSurrogate_Refused(t *testing.T) {
	if v, err := unpickle([]byte("\x80\x05\x8c\x03\xed\xa0\x80\x94."), nil, &Reader{}); !errors.Is(err, store.ErrNotPlain) {
		t.Errorf("%q, %v", v, err)
	}
}

func TestFields_TwoOfOneName_Refused(t *testing.T) {
	number := reflect.TypeFor[int]()
	twice := reflect.StructOf([]reflect.StructField{{Name: "A", Type: number, Tag: `json:"n"`}, {Name: "B", Type: number, Tag: `json:"n"`}})
	if _, err := Encode(reflect.Zero(twice).Interface(), References{}); err == nil || !strings.Contains(err.Error(), `"n"`) {
		t.Errorf("two fields of one name: %v", err)
	}
}

func TestUnpickle_SharedAndEndless_AreBounded(t *testing.T) {
	// A list that contains itself.
	if v, err := unpickle([]byte("\x80\x05]\x94h\x00a."), nil, &Reader{}); !errors.Is(err, store.ErrNotPlain) {
		t.Errorf("a list in itself: %v, %v", v, err)
	}
	// Each list mentions the one before it twice.
	b := "\x80\x05]\x94"
	for i := range 60 {
		b += "]\x94h" + string(rune(i)) + "ah" + string(rune(i)) + "a"
	}
	if _, err := unpickle([]byte(b+"."), nil, &Reader{}); !errors.Is(err, store.ErrNotPlain) {
		t.Errorf("2^60 parts: %v", err)
	}
	for name, p := range map[string]string{
		"nothing": "", "no stop": "N", "empty stack": "\x80\x05.", "mark": "(.", "memo": "h\x05.", "length": "X\xff\xff\xff\xffa.",
		"long": "\x8b\xff\xff\xff\x7f.", "no buffer": "\x97.", "list on none": "Na.", "dict of three": "}(K\x01K\x02K\x03u.", "global": "cnumpy", "object": "N)\x81.",
	} {
		if v, err := unpickle([]byte(p), nil, &Reader{}); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// Whatever bytes a value has, reading it as any type is a value or an error.
func FuzzDecode(f *testing.F) {
	array, _ := store.NewNDArray([]float64{1, 2, 3}, 3)
	for _, v := range []any{nil, 1, "a", []any{1, map[string]any{"k": 2}}, []byte("x"), map[any]any{1: 2}, array, []any{array, 2i, time.Now(), time.Second, new(big.Int).Lsh(big.NewInt(1), 90)}} {
		e, err := Encode(v, References{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(envelope(e))
	}
	for _, p := range pythonPickles {
		f.Add(store.AppendEnvelope(nil, store.FormatPickle, []byte(p), make([]byte, 24)))
	}
	f.Add(store.AppendEnvelope(nil, store.FormatFault, []byte("\x93\xa1a\xa1b\xa1c")))
	f.Add(store.AppendEnvelope(nil, store.FormatMsgpack, []byte("\xdd\xff\xff\xff\xff")))
	r := Reader{
		Table:  func(meta []byte) ([]byte, error) { return meta, nil },
		Assign: func(dst reflect.Value, _ Ref) bool { return dst.Kind() == reflect.Interface },
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Decode[any](b, r)
		_, _ = Decode[[]float64](b, r)
		_, _ = Decode[map[string]int](b, r)
		_, _ = Decode[map[any]any](b, r)
		_, _ = Decode[*struct{ A, B []any }](b, r)
		_, _ = Decode[[4]complex64](b, r)
		_, _ = Decode[time.Time](b, r)
		if a, err := Decode[store.NDArray](b, r); err == nil {
			_, _ = Values[float64](a)
			_, _ = Values[uint16](a)
		}
	})
}

// pythonPickles are what pickle.dumps(…, 5) writes of an array that is a buffer beside it, of a scalar
// of numpy's, of a datetime and of an object.
var pythonPickles = []string{
	"\x80\x05\x8c\x13numpy._core.numeric\x94\x8c\x0b_frombuffer\x94\x93\x94(\x97\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02i8\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94bK\x03\x85\x94\x8c\x01C\x94t\x94R.",
	"\x80\x05\x8c\x16numpy._core.multiarray\x94\x8c\x06scalar\x94\x93\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02f8\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94bC\x08\x00\x00\x00\x00\x00\x00\x04@\x94\x86\x94R.",
	"\x80\x05\x8c\x08datetime\x94\x8c\x08datetime\x94\x93\x94C\n\x07\xe8\x01\x02\x03\x00\x00\x00\x00\x00\x94h\x00\x8c\x08timezone\x94\x93\x94h\x00\x8c\ttimedelta\x94\x93\x94K\x00K\x00K\x00\x87\x94R\x94\x85\x94R\x94\x86\x94R.",
	"\x80\x05\x8c\x08__main__\x94\x8c\x01A\x94\x93\x94)\x81.",
}

func TestDecode_WhatPythonPickles(t *testing.T) {
	want := []any{nil, 2.5, time.Date(2024, 1, 2, 3, 0, 0, 0, time.UTC), nil}
	for i, p := range pythonPickles {
		buf := make([]byte, 24)
		buf[8] = 7
		got, err := Decode[any](store.AppendEnvelope(nil, store.FormatPickle, []byte(p), buf), Reader{})
		switch i {
		case 0:
			if v, err2 := Values[int64](got.(store.NDArray)); err != nil || err2 != nil || !reflect.DeepEqual(v, []int64{0, 7, 0}) {
				t.Errorf("an array: %v, %v, %v", got, err, err2)
			}
		case 3:
			if !errors.Is(err, store.ErrNotPlain) || !strings.Contains(err.Error(), "__main__.A") {
				t.Errorf("an object: %v, %v", got, err)
			}
		default:
			if err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("pickle %d is %v, %v", i, got, err)
			}
		}
	}
}

func BenchmarkValue(b *testing.B) {
	v := map[string]any{"name": "task", "n": 5, "list": []any{1, 2.5, "three"}}
	encoded, err := Encode(v, References{})
	if err != nil {
		b.Fatal(err)
	}
	env := envelope(encoded)
	b.Run("Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Encode(v, References{})
		}
	})
	b.Run("DecodeAny", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Decode[any](env, Reader{})
		}
	})
	b.Run("DecodeInt", func(b *testing.B) {
		n, _ := Encode(5, References{})
		env := envelope(n)
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Decode[int](env, Reader{})
		}
	})
}
