package store

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// ErrNotView is wrapped when an array cannot be seen as a slice of a Go type.
var ErrNotView = errors.New("array is no view of this type")

// maxDims is numpy's limit.
const maxDims = 64

// NDArray is a numpy array as it lies in memory. An array that came from the
// cluster may be a read-only view of shared memory. The array, and every copy of
// this struct, keeps that memory; a slice of the memory does not, so the memory
// is reached through functions (Use, Values) that return when they are done with it.
type NDArray struct {
	DType string // numpy's dtype.str: "<f8", "|u1"
	Shape []int  // empty for a scalar array
	Order byte   // 'C': the last index runs fastest; 'F': the first
	data  []byte // Len() elements
	keep  any    // what keeps data from being reused, nil for memory of Go's
}

// RawNDArray returns an array of any dtype whose memory is data.
func RawNDArray(dtype string, shape []int, order byte, data []byte) (NDArray, error) {
	a := NDArray{DType: dtype, Shape: shape, Order: order, data: data}
	if err := a.Check(); err != nil {
		return NDArray{}, err
	}
	return a, nil
}

// Keep returns the array with what has to stay reachable for as long as the array is.
func (a NDArray) Keep(keep any) NDArray {
	a.keep = keep
	return a
}

// Check reports what is wrong with an array that numpy could not read.
func (a NDArray) Check() error {
	size := ItemSize(a.DType)
	n, err := a.count()
	switch {
	case err != nil:
		return err
	case size < 0:
		return fmt.Errorf("%w: dtype %q is none of numpy's in the form of dtype.str, such as \"<f8\"", ErrNotView, a.DType)
	case a.Order != 'C' && a.Order != 'F':
		return fmt.Errorf("%w: order %q, want 'C' or 'F'", ErrNotView, a.Order)
	case len(a.Shape) > maxDims:
		return fmt.Errorf("%w: %d dimensions, numpy has at most %d", ErrNotView, len(a.Shape), maxDims)
	case size > 0 && n > len(a.data)/size || n*size != len(a.data):
		return fmt.Errorf("%w: %d bytes for shape %v of %d-byte elements", ErrNotView, len(a.data), a.Shape, size)
	}
	return nil
}

// ItemSize returns how many bytes an element of a dtype.str has, -1 for a text that is none.
func ItemSize(dtype string) int {
	if len(dtype) < 3 || !strings.ContainsRune("<>|=", rune(dtype[0])) || !strings.ContainsRune("biufcmMSUV", rune(dtype[1])) {
		return -1
	}
	digits, unit, _ := strings.Cut(dtype[2:], "[")
	size, err := strconv.Atoi(digits)
	if err != nil || size < 0 || size > math.MaxInt32 || unit != "" && (dtype[1] != 'm' && dtype[1] != 'M' || unit[len(unit)-1] != ']') {
		return -1
	}
	if dtype[1] == 'U' {
		size *= 4
	}
	return size
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
		data:  unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*size),
	}
	if n, err := a.count(); err != nil || n != len(data) {
		return NDArray{}, fmt.Errorf("shape %v does not hold %d elements", shape, len(data))
	}
	return a, nil
}

// Use calls f with the array's memory as a slice, without copying it. The slice must
// not be used after f has returned, nor be written to when the array came from the
// cluster: its memory may be read-only, and the program would end with SIGSEGV. The
// dtype must be T's in little-endian order (booleans are seen as uint8), and the
// memory aligned.
func Use[T Element](a NDArray, f func(elements []T) error) error {
	s, err := view[T](a)
	if err != nil {
		return err
	}
	err = f(s)
	runtime.KeepAlive(a.keep)
	return err
}

// UseBytes is Use for an array of any dtype: f sees its bytes.
func UseBytes(a NDArray, f func(data []byte) error) error {
	err := f(a.data)
	runtime.KeepAlive(a.keep)
	return err
}

// Copy returns an array with a copy of the memory, which the program may write to.
func (a NDArray) Copy() NDArray {
	c := a
	c.Shape, c.data, c.keep = slices.Clone(a.Shape), slices.Clone(a.data), nil
	runtime.KeepAlive(a.keep)
	return c
}

// view returns the array's memory as a slice; who calls keeps a.keep reachable.
func view[T Element](a NDArray) ([]T, error) {
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
	if n > len(a.data)/size || n*size != len(a.data) {
		return nil, fmt.Errorf("%w: shape %v of %d-byte elements in %d bytes", ErrNotView, a.Shape, size, len(a.data))
	}
	if n == 0 {
		return []T{}, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(a.data))
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

// Envelope returns the metadata and the buffer that the array travels in.
func (a NDArray) Envelope() (meta, data []byte, err error) {
	if err := a.Check(); err != nil {
		return nil, nil, err
	}
	meta = append([]byte{0x93}, appendString(nil, a.DType)...)
	meta = appendArray(meta, len(a.Shape))
	for _, s := range a.Shape {
		meta = appendUint(meta, uint64(s))
	}
	return appendString(meta, string(a.Order)), a.data, nil
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
	a = NDArray{DType: m.DType, Shape: m.Shape, Order: m.Order[0], data: e.Bufs[0]}
	if _, err := a.count(); err != nil {
		return NDArray{}, err
	}
	return a, nil
}
