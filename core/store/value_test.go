package store

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

type point struct {
	X     int     `msgpack:"x"`
	Y     float64 `msgpack:"y"`
	Extra any     `msgpack:"extra"`
}

func roundTrip[T any](t *testing.T, v T) {
	t.Helper()
	b, err := EncodeValue(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	got, err := DecodeValue[T](b)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%#v came back as %#v (%v)", v, got, err)
	}
}

func TestValue_GoTypes_ComeBackEqual(t *testing.T) {
	roundTrip(t, 42)
	roundTrip(t, int64(math.MinInt64))
	roundTrip(t, uint64(math.MaxUint64))
	roundTrip(t, 1.5)
	roundTrip(t, true)
	roundTrip(t, "text")
	roundTrip(t, []byte("bytes"))
	roundTrip(t, []string{"a", "b"})
	roundTrip(t, map[string]int{"a": 1, "b": -1})
	roundTrip(t, map[int]string{1: "x"})
	roundTrip(t, []point{{1, 2, nil}, {3, 4, map[string]any{"k": []any{int64(1)}}}})
	roundTrip(t, &point{X: 7})
	roundTrip[any](t, nil)
}

func TestValue_Any_FewGoTypes(t *testing.T) {
	for _, c := range []struct{ in, want any }{
		{nil, nil},
		{true, true},
		{int8(-5), int64(-5)},
		{-129, int64(-129)},
		{-40000, int64(-40000)},
		{math.MinInt64, int64(math.MinInt64)},
		{uint16(60000), int64(60000)},
		{uint64(math.MaxInt64) + 1, uint64(math.MaxInt64) + 1},
		{float32(0.5), 0.5},
		{"text", "text"},
		{strings.Repeat("long ", 20000), strings.Repeat("long ", 20000)},
		{[]byte{1, 2}, []byte{1, 2}},
		{[]int{1, 2}, []any{int64(1), int64(2)}},
		{make([]bool, 20), anys(20, false)},
		{make([]bool, 70000), anys(70000, false)},
		{map[string]any{"a": []string{"b"}, "n": nil}, map[string]any{"a": []any{"b"}, "n": nil}},
		{map[any]any{1: "x", "k": true, 2.5: nil}, map[any]any{int64(1): "x", "k": true, 2.5: nil}},
		{map[any]any{nil: 1}, map[any]any{nil: int64(1)}},
		{point{1, 2, "e"}, map[string]any{"x": int64(1), "y": 2.0, "extra": "e"}},
	} {
		b, err := EncodeValue(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeValue[any](b); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%.100v came back as %.100v (%v)", c.in, got, err)
		}
	}
	b, _ := EncodeValue(map[string]any{"a": 1})
	if got, err := DecodeValue[map[any]any](b); err != nil || !reflect.DeepEqual(got, map[any]any{"a": int64(1)}) {
		t.Errorf("as map[any]any: %v, %v", got, err)
	}
	b, _ = EncodeValue([]any{1, "a"})
	if got, err := DecodeValue[[]any](b); err != nil || !reflect.DeepEqual(got, []any{int64(1), "a"}) {
		t.Errorf("as []any: %v, %v", got, err)
	}
}

func anys(n int, v any) []any {
	s := make([]any, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func TestDecodeValue_NotWhatWasAsked_SaysWhatItIs(t *testing.T) {
	pickled := AppendEnvelope(nil, FormatPickle, []byte("\x80\x05N."))
	if _, err := DecodeValue[any](pickled); !errors.Is(err, ErrNotPlain) || !strings.Contains(err.Error(), "PICKLE") {
		t.Errorf("pickle: %v", err)
	}
	if _, err := DecodeValue[any](AppendEnvelope(nil, FormatError, nil)); !errors.Is(err, ErrNotPlain) {
		t.Errorf("exception: %v", err)
	}
	meta, _ := EncodePlain([]string{string(fault.StoreFull), "no room for 5 bytes"})
	_, err := DecodeValue[int](AppendEnvelope(nil, FormatFault, meta))
	if fault.CodeOf(err) != fault.StoreFull || !strings.Contains(err.Error(), "no room") {
		t.Errorf("fault: %v", err)
	}
	for _, body := range []string{"", "\x01", "\x90", "\x92\x01\x02"} {
		if _, err := DecodeValue[int](AppendEnvelope(nil, FormatFault, []byte(body))); err == nil {
			t.Errorf("fault with body %q passes", body)
		}
	}
	text, _ := EncodeValue("text")
	if _, err := DecodeValue[int](text); err == nil {
		t.Error("a string as an int")
	}
	if _, err := DecodeValue[map[string]any](text); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("a string as a map: %v", err)
	}
	raw, _ := EncodeValue([]byte("b"))
	if _, err := DecodeValue[string](raw); err == nil || !strings.Contains(err.Error(), "BYTES") {
		t.Errorf("bytes as a string: %v", err)
	}
	if v, err := DecodeValue[int](AppendEnvelope(nil, FormatNone, nil)); v != 0 || err != nil {
		t.Errorf("None as an int: %v, %v", v, err)
	}
	if _, err := EncodeValue(make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}

func TestDecodeValue_HostileMsgpack_ErrorNotCrash(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, 1<<20)
	for name, meta := range map[string]string{
		"nothing":             "",
		"two values":          "\x01\x01",
		"never used byte":     "\xc1",
		"deep nesting":        string(append(deep, 1)),
		"map of 2^32":         "\xdf\xff\xff\xff\xff\x01",
		"array of 2^32":       "\xdd\xff\xff\xff\xff",
		"string of 2^32":      "\xdb\xff\xff\xff\xff",
		"ext of 2^32":         "\xc9\xff\xff\xff\xff\x01",
		"float cut off":       "\xcb\x00",
		"missing value":       "\x81\x01",
		"key that is a list":  "\x81\x90\x01",
		"key that is a map":   "\x82\xa1a\x01\x80\x01",
		"extension type":      "\xd4\x05\x01",
		"extension in a list": "\x91\xc7\x01\x05\x01",
	} {
		b := AppendEnvelope(nil, FormatMsgpack, []byte(meta))
		if v, err := DecodeValue[any](b); err == nil {
			t.Errorf("%s: any %v", name, v)
		}
		if v, err := DecodeValue[map[any]map[any]any](b); err == nil {
			t.Errorf("%s: map %v", name, v)
		}
		if v, err := DecodeValue[[][]string](b); err == nil {
			t.Errorf("%s: slice %v", name, v)
		}
	}
}

// The hand-written reader and the library agree on what a value is.
func FuzzPlain(f *testing.F) {
	for _, v := range []any{nil, 1, -1, 70000, "a", 1.5, []any{1, "b"}, map[string]any{"k": map[string]any{}}, []byte("x")} {
		b, err := EncodePlain(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, err := decodeMsgpack[any](b)
		if err != nil {
			return
		}
		packed, err := EncodePlain(ours)
		if err != nil {
			t.Fatalf("%v read from % x cannot be written: %v", ours, b, err)
		}
		again, err := decodeMsgpack[any](packed)
		if again2, err2 := EncodePlain(again); err != nil || err2 != nil || len(again2) != len(packed) {
			t.Fatalf("%v became %v (%v, %v)", ours, again, err, err2)
		}
		var theirs msgpack.RawMessage
		if err := msgpack.Unmarshal(b, &theirs); err != nil {
			t.Fatalf("we read %v, the library says %v", ours, err)
		}
	})
}

func BenchmarkValue(b *testing.B) {
	v := map[string]any{"name": "task", "n": 5, "list": []any{1, 2.5, "three"}}
	encoded, err := EncodeValue(v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = EncodeValue(v)
		}
	})
	b.Run("DecodeAny", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = DecodeValue[any](encoded)
		}
	})
	b.Run("DecodeInt", func(b *testing.B) {
		n, _ := EncodeValue(5)
		b.ReportAllocs()
		for b.Loop() {
			_, _ = DecodeValue[int](n)
		}
	})
}
