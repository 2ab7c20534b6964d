package backend

import "fmt"

// DType is the type of an array's elements.
type DType uint8

// The data types. BF16 has no counterpart in numpy; everything else has.
const (
	F16 DType = iota + 1
	BF16
	F32
	F64
	I32
	I64
	U8
)

var dtypes = [...]struct {
	name string
	size int
}{F16: {"float16", 2}, BF16: {"bfloat16", 2}, F32: {"float32", 4}, F64: {"float64", 8}, I32: {"int32", 4}, I64: {"int64", 8}, U8: {"uint8", 1}}

// Valid reports whether t is one of the data types.
func (t DType) Valid() bool { return t >= F16 && t <= U8 }

// Size is an element's size in bytes.
func (t DType) Size() int {
	if !t.Valid() {
		return 0
	}
	return dtypes[t].size
}

// Float reports whether t is a floating-point type.
func (t DType) Float() bool { return t >= F16 && t <= F64 }

// String is numpy's name of the type.
func (t DType) String() string {
	if !t.Valid() {
		return fmt.Sprintf("DType(%d)", uint8(t))
	}
	return dtypes[t].name
}

// ParseDType returns the type with numpy's name s, bfloat16 included.
func ParseDType(s string) (DType, bool) {
	for t := F16; t <= U8; t++ {
		if dtypes[t].name == s {
			return t, true
		}
	}
	return 0, false
}
