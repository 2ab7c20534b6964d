package store

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"unsafe"
)

// passed returns the array as it comes out of its envelope.
func passed(t *testing.T, a NDArray) NDArray {
	t.Helper()
	meta, data, err := a.Envelope()
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(AppendEnvelope(nil, FormatNDArray, meta, data))
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseNDArray(e)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func arrayTrip[T Element](t *testing.T, dtype string, data []T) {
	t.Helper()
	a, err := NewNDArray(data)
	if err != nil || a.DType != dtype || a.Len() != len(data) {
		t.Fatalf("%+v, %v; want dtype %s", a, err, dtype)
	}
	back := passed(t, a)
	if back.DType != dtype || back.Order != 'C' || !reflect.DeepEqual(back.Shape, []int{len(data)}) {
		t.Fatalf("%+v", back)
	}
	got, err := view[T](back)
	if err != nil || !reflect.DeepEqual(got, data) {
		t.Errorf("%v came back as %v (%v)", data, got, err)
	}
	if len(got) > 0 && unsafe.Pointer(&got[0]) != unsafe.Pointer(&back.data[0]) {
		t.Error("the view is a copy")
	}
}

func TestNDArray_EveryType_ViewWithoutCopy(t *testing.T) {
	arrayTrip(t, "|i1", []int8{-1, 2})
	arrayTrip(t, "<i2", []int16{-1, 2})
	arrayTrip(t, "<i4", []int32{-1, 2})
	arrayTrip(t, "<i8", []int64{math.MinInt64, 2})
	arrayTrip(t, "|u1", []uint8{1, 2})
	arrayTrip(t, "<u2", []uint16{1, 2})
	arrayTrip(t, "<u4", []uint32{1, 2})
	arrayTrip(t, "<u8", []uint64{1, math.MaxUint64})
	arrayTrip(t, "<f4", []float32{1.5, 2})
	arrayTrip(t, "<f8", []float64{1.5, math.Inf(1)})
	arrayTrip(t, "<c8", []complex64{1i})
	arrayTrip(t, "<c16", []complex128{1, 2i})
	arrayTrip(t, "<f8", []float64{})
}

func TestNDArray_Shapes_KeptAndChecked(t *testing.T) {
	data := make([]float32, 24)
	a, err := NewNDArray(data, 2, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	a.Order = 'F'
	back := passed(t, a)
	if !reflect.DeepEqual(back.Shape, []int{2, 3, 4}) || back.Order != 'F' || back.Len() != 24 {
		t.Errorf("%+v", back)
	}
	if s, err := view[float32](NDArray{DType: "<f4", Order: 'C', data: a.data[:4]}); err != nil || len(s) != 1 {
		t.Errorf("scalar array: %v, %v", s, err)
	}
	for _, shape := range [][]int{{5}, {2, 3}, {-2, -12}, {1 << 62, 1 << 62}, {0, 24}} {
		if _, err := NewNDArray(data, shape...); err == nil {
			t.Errorf("24 elements as %v", shape)
		}
	}
}

func TestView_WrongTypeSizeOrAlignment_Error(t *testing.T) {
	data := make([]byte, 65)
	ok := NDArray{DType: "<f8", Shape: []int{8}, Order: 'C', data: data[:64]}
	if _, err := view[float64](ok); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(a *NDArray){
		"big endian":    func(a *NDArray) { a.DType = ">f8" },
		"other type":    func(a *NDArray) { a.DType = "<i8" },
		"other size":    func(a *NDArray) { a.DType = "<f4" },
		"no dtype":      func(a *NDArray) { a.DType = "" },
		"short data":    func(a *NDArray) { a.data = data[:63] },
		"long data":     func(a *NDArray) { a.data = data[:65] },
		"misaligned":    func(a *NDArray) { a.data = data[1:65] },
		"shape differs": func(a *NDArray) { a.Shape = []int{4} },
		"overflow":      func(a *NDArray) { a.Shape = []int{1 << 32, 1 << 32, 8} },
		"wraps to 8":    func(a *NDArray) { a.Shape = []int{1<<61 + 8} },
		"negative":      func(a *NDArray) { a.Shape = []int{-8} },
	} {
		a := ok
		change(&a)
		if v, err := view[float64](a); !errors.Is(err, ErrNotView) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if v, err := view[uint8](NDArray{DType: "|b1", Shape: []int{3}, data: []byte{0, 1, 1}}); err != nil || len(v) != 3 {
		t.Errorf("booleans as uint8: %v, %v", v, err)
	}
}

func TestParseNDArray_BadMetadata_Error(t *testing.T) {
	good := "\x93\xa3<f8\x91\x02\xa1C"
	for name, meta := range map[string]string{
		"nothing":       "",
		"cut off":       good[:5],
		"trailing":      good + "\x01",
		"two fields":    "\x92\xa3<f8\x91\x02",
		"order K":       "\x93\xa3<f8\x91\x02\xa1K",
		"shape no list": "\x93\xa3<f8\x02\xa1C",
		"negative":      "\x93\xa3<f8\x91\xff\xa1C",
		"many dims":     "\x93\xa3<f8\xdc\x00\x41" + string(make([]byte, 65)) + "\xa1C",
	} {
		e := Envelope{Format: FormatNDArray, Meta: []byte(meta), Bufs: [][]byte{make([]byte, 16)}}
		if a, err := ParseNDArray(e); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, bufs := range [][][]byte{nil, {nil, nil}} {
		if _, err := ParseNDArray(Envelope{Format: FormatNDArray, Meta: []byte(good), Bufs: bufs}); !errors.Is(err, ErrBadEnvelope) {
			t.Errorf("%d buffers: %v", len(bufs), err)
		}
	}
	if a, err := ParseNDArray(Envelope{Format: FormatNDArray, Meta: []byte(good), Bufs: [][]byte{make([]byte, 16)}}); err != nil || a.Len() != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestNDArray_ThatNumpyCannotRead_IsRefused(t *testing.T) {
	for name, a := range map[string]NDArray{
		"no dtype":      {Shape: []int{1}, Order: 'C', data: make([]byte, 8)},
		"bad dtype":     {DType: "float64", Shape: []int{1}, Order: 'C', data: make([]byte, 8)},
		"objects":       {DType: "|O8", Shape: []int{1}, Order: 'C', data: make([]byte, 8)},
		"no order":      {DType: "<f8", Shape: []int{1}, data: make([]byte, 8)},
		"too few bytes": {DType: "<f8", Shape: []int{2}, Order: 'C', data: make([]byte, 8)},
		"negative":      {DType: "<f8", Shape: []int{-1}, Order: 'C'},
		"huge dtype":    {DType: "<f99999999999999999999", Shape: []int{1}, Order: 'C'},
	} {
		if _, _, err := a.Envelope(); !errors.Is(err, ErrNotView) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for dtype, want := range map[string]int{"<f8": 8, "|b1": 1, "<U3": 12, "|S5": 5, "<M8[ns]": 8, "<m8[25s]": 8, "|V0": 0, "<M8[ns": -1, "<f8[x]": -1, "f8": -1, "<f-8": -1} {
		if got := ItemSize(dtype); got != want {
			t.Errorf("ItemSize(%q) = %d, want %d", dtype, got, want)
		}
	}
}

func TestNDArray_Copy_SharesNothing(t *testing.T) {
	a, _ := NewNDArray([]int32{1, 2})
	c := a.Keep(new(int)).Copy()
	_ = Use(c, func(v []int32) error { v[0] = 9; return nil })
	if v, _ := view[int32](a); v[0] != 1 || c.keep != nil {
		t.Errorf("the array became %v after a write to its copy", v)
	}
}
