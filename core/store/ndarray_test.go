package store

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"unsafe"
)

func arrayTrip[T Element](t *testing.T, dtype string, data []T) {
	t.Helper()
	a, err := NewNDArray(data)
	if err != nil || a.DType != dtype || a.Len() != len(data) {
		t.Fatalf("%+v, %v; want dtype %s", a, err, dtype)
	}
	b, err := EncodeValue(a)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeValue[NDArray](b)
	if err != nil || back.DType != dtype || back.Order != 'C' || !reflect.DeepEqual(back.Shape, []int{len(data)}) {
		t.Fatalf("%+v, %v", back, err)
	}
	got, err := View[T](back)
	if err != nil || !reflect.DeepEqual(got, data) {
		t.Errorf("%v came back as %v (%v)", data, got, err)
	}
	if len(got) > 0 && unsafe.Pointer(&got[0]) != unsafe.Pointer(&back.Data[0]) {
		t.Error("View copied")
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
	b, _ := EncodeValue(a)
	back, err := DecodeValue[NDArray](b)
	if err != nil || !reflect.DeepEqual(back.Shape, []int{2, 3, 4}) || back.Order != 'F' || back.Len() != 24 {
		t.Errorf("%+v, %v", back, err)
	}
	if found, err := DecodeValue[any](b); err != nil || !reflect.DeepEqual(found, back) {
		t.Errorf("as any: %v, %v", found, err)
	}
	if s, err := View[float32](NDArray{DType: "<f4", Order: 'C', Data: a.Data[:4]}); err != nil || len(s) != 1 {
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
	ok := NDArray{DType: "<f8", Shape: []int{8}, Order: 'C', Data: data[:64]}
	if _, err := View[float64](ok); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(a *NDArray){
		"big endian":    func(a *NDArray) { a.DType = ">f8" },
		"other type":    func(a *NDArray) { a.DType = "<i8" },
		"other size":    func(a *NDArray) { a.DType = "<f4" },
		"no dtype":      func(a *NDArray) { a.DType = "" },
		"short data":    func(a *NDArray) { a.Data = data[:63] },
		"long data":     func(a *NDArray) { a.Data = data[:65] },
		"misaligned":    func(a *NDArray) { a.Data = data[1:65] },
		"shape differs": func(a *NDArray) { a.Shape = []int{4} },
		"overflow":      func(a *NDArray) { a.Shape = []int{1 << 32, 1 << 32, 8} },
		"wraps to 8":    func(a *NDArray) { a.Shape = []int{1<<61 + 8} },
		"negative":      func(a *NDArray) { a.Shape = []int{-8} },
	} {
		a := ok
		change(&a)
		if v, err := View[float64](a); !errors.Is(err, ErrNotView) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if v, err := View[uint8](NDArray{DType: "|b1", Shape: []int{3}, Data: []byte{0, 1, 1}}); err != nil || len(v) != 3 {
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
