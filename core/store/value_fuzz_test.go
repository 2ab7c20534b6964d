package store

import "testing"

// Whatever bytes a value has, reading it as any kind is a value or an error; an array has the bytes that it says.
func FuzzValue(f *testing.F) {
	for _, v := range []any{nil, 1, "a", []any{1, map[string]any{"k": 2}}, []byte("x"), map[any]any{1: 2}} {
		b, err := EncodeValue(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	array, err := NDArray{DType: "<f8", Shape: []int{2, 3}, Order: 'C', Data: make([]byte, 48)}.appendEnvelope(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(array)
	f.Add(AppendEnvelope(nil, FormatFault, []byte("\x93\xa1a\xa1b\xa1c")))
	f.Add(AppendEnvelope(nil, FormatMsgpack, []byte("\xdd\xff\xff\xff\xff")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeValue[any](b)
		_, _ = DecodeValue[[]float64](b)
		_, _ = DecodeValue[map[string]int](b)
		_, _ = DecodeValue[map[any]any](b)
		_, _ = DecodeValue[[]byte](b)
		_, _ = DecodeValue[struct{ A, B []any }](b)
		e, err := Parse(b)
		if err != nil {
			return
		}
		if a, err := ParseNDArray(e); err == nil {
			if n, err := a.count(); err != nil || n < 0 {
				t.Fatalf("an array of %d values: %v", n, err)
			}
		}
	})
}
