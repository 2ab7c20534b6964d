package store

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// ErrNotView is wrapped when an array cannot be seen as a slice of a Go type.
var ErrNotView = errors.New("array is no view of this type")

// maxDims is numpy's limit.
const maxDims = 64

// NDArray is a numpy array as it lies in memory.
type NDArray struct {
	DType string // numpy's dtype.str: "<f8", "|u1"
	Shape []int  // empty for a scalar array
	Order byte   // 'C': the last index runs fastest; 'F': the first
	Data  []byte // Len() elements
}

// Element is a type that an array can be viewed as.
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 | complex128
}

// dtypeOf returns numpy's kind letter and the size in bytes.
func dtypeOf[T Element]() (kind byte, size int) {
	var zero T
	switch any(zero).(type) {
	case int8, int16, int32, int64:
		kind = 'i'
	case uint8, uint16, uint32, uint64:
		kind = 'u'
	case float32, float64:
		kind = 'f'
	default:
		kind = 'c'
	}
	return kind, int(unsafe.Sizeof(zero))
}

// NewNDArray returns an array in C order whose memory is data. Without a shape
// it is one-dimensional.
func NewNDArray[T Element](data []T, shape ...int) (NDArray, error) {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	kind, size := dtypeOf[T]()
	order := byte('<')
	if size == 1 {
		order = '|'
	}
	a := NDArray{
		DType: string(order) + string(kind) + strconv.Itoa(size),
		Shape: shape,
		Order: 'C',
		Data:  unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*size),
	}
	if n, err := a.count(); err != nil || n != len(data) {
		return NDArray{}, fmt.Errorf("shape %v does not hold %d elements", shape, len(data))
	}
	return a, nil
}

// View returns the array's memory as a slice, without copying. The dtype must be
// T's in little-endian order (booleans are seen as uint8), and the memory aligned.
func View[T Element](a NDArray) ([]T, error) {
	kind, size := dtypeOf[T]()
	want := string(kind) + strconv.Itoa(size)
	d := a.DType
	if len(d) < 2 || d[1:] != want && (d[1:] != "b1" || want != "u1") || d[0] == '>' && size > 1 {
		return nil, fmt.Errorf("%w: dtype %q, want %q", ErrNotView, d, "<"+want)
	}
	n, err := a.count()
	if err != nil {
		return nil, err
	}
	if n > len(a.Data)/size || n*size != len(a.Data) {
		return nil, fmt.Errorf("%w: shape %v of %d-byte elements in %d bytes", ErrNotView, a.Shape, size, len(a.Data))
	}
	if n == 0 {
		return []T{}, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(a.Data))
	if uintptr(p)%unsafe.Alignof(*new(T)) != 0 {
		return nil, fmt.Errorf("%w: memory is not aligned", ErrNotView)
	}
	return unsafe.Slice((*T)(p), n), nil
}

// Len returns the number of elements, -1 when the shape is impossible.
func (a NDArray) Len() int {
	n, err := a.count()
	if err != nil {
		return -1
	}
	return n
}

func (a NDArray) count() (int, error) {
	n, empty := 1, false
	for _, s := range a.Shape {
		switch {
		case s < 0 || s > 0 && n > math.MaxInt/s:
			return 0, fmt.Errorf("%w: impossible shape %v", ErrNotView, a.Shape)
		case s == 0:
			empty = true
		default:
			n *= s
		}
	}
	if empty {
		n = 0
	}
	return n, nil
}

// appendEnvelope appends the array's envelope.
func (a NDArray) appendEnvelope(dst []byte) ([]byte, error) {
	if _, err := a.count(); err != nil {
		return nil, err
	}
	meta := append([]byte{0x93}, appendString(nil, a.DType)...)
	meta = appendArray(meta, len(a.Shape))
	for _, s := range a.Shape {
		meta = appendUint(meta, uint64(s))
	}
	order := "C"
	if a.Order == 'F' {
		order = "F"
	}
	return AppendEnvelope(dst, FormatNDArray, appendString(meta, order), a.Data), nil
}

func appendString(dst []byte, s string) []byte {
	if len(s) < 32 {
		dst = append(dst, 0xa0|byte(len(s)))
	} else {
		dst = append(dst, 0xd9, byte(len(s)))
	}
	return append(dst, s...)
}

// ParseNDArray reads an envelope of format NDARRAY. Data is a view of its buffer.
func ParseNDArray(e Envelope) (a NDArray, err error) {
	if e.Format != FormatNDArray || len(e.Bufs) != 1 {
		return a, fmt.Errorf("%w: %s with %d buffers is no array", ErrBadEnvelope, e.Format, len(e.Bufs))
	}
	if err := scan(e.Meta); err != nil {
		return a, fmt.Errorf("array's metadata: %w", err)
	}
	var m struct {
		_msgpack struct{} `msgpack:",as_array"`
		DType    string
		Shape    []int
		Order    string
	}
	if err := msgpack.Unmarshal(e.Meta, &m); err != nil {
		return a, fmt.Errorf("array's metadata: %w: %w", ErrBadMsgpack, err)
	}
	if m.Order != "C" && m.Order != "F" || len(m.Shape) > maxDims {
		return a, fmt.Errorf("%w: an array of order %q with %d dimensions", ErrBadEnvelope, m.Order, len(m.Shape))
	}
	a = NDArray{DType: m.DType, Shape: m.Shape, Order: m.Order[0], Data: e.Bufs[0]}
	if _, err := a.count(); err != nil {
		return NDArray{}, err
	}
	return a, nil
}
