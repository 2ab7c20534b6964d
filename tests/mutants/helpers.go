package main

import (
	"go/constant"
	"go/token"
	"go/types"
)

// helperText is a file that is added to the changed package. The name of the
// program's file says which change is on: "x.test.17" for the 17th. Every
// process of the same program has that name, also one that is started without
// the variables of its parent. A program whose name ends with ".reach" has no
// change on and notes each place that it reaches in the file of the same name
// with ".places" behind it, which all its processes share.
//
// All variables of a package that use a function are set after those that the
// function uses, so each change is chosen before the package's own code runs.
const helperText = `package %s

import mutantOS "os"
import mutantPath "path/filepath"
import mutantNumbers "strconv"
import mutantSystem "syscall"
%s
%s
var mutantReached []byte

var mutantChosen = mutantChoice()

const mutantPlaces = %d

func mutantChoice() int {
	self, err := mutantOS.Executable()
	if err != nil {
		panic(err)
	}
	end := mutantPath.Ext(self)
	if end == ".reach" {
		file, err := mutantOS.OpenFile(self+".places", mutantOS.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		mutantReached, err = mutantSystem.Mmap(int(file.Fd()), 0, mutantPlaces, mutantSystem.PROT_READ|mutantSystem.PROT_WRITE, mutantSystem.MAP_SHARED)
		if err != nil {
			panic(err)
		}
		_ = file.Close()
		return -1
	}
	chosen, err := mutantNumbers.Atoi(end[min(1, len(end)):])
	if err != nil {
		return 0
	}
	return chosen
}

func mutantOn(id int) bool { return id == mutantChosen || mutantChosen < 0 && mutantNote(id) }

func mutantNote(id int) bool {
	if mutantReached[id] == 0 {
		mutantReached[id] = 1
	}
	return false
}

type mutantKinds interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

type mutantOrdered interface{ mutantKinds | ~string }

func mutantNumber[T mutantKinds](id int, a, b T) T {
	if mutantOn(id) {
		return b
	}
	return a
}

func mutantAdd[T mutantKinds](id int, a, b T) T {
	if mutantOn(id) {
		return a - b
	}
	return a + b
}

func mutantSub[T mutantKinds](id int, a, b T) T {
	if mutantOn(id) {
		return a + b
	}
	return a - b
}

func mutantMul[T mutantKinds](id int, a, b T) T {
	if mutantOn(id) {
		return a / b
	}
	return a * b
}

func mutantQuo[T mutantKinds](id int, a, b T) T {
	if mutantOn(id) {
		return a * b
	}
	return a / b
}

func mutantLess[T mutantOrdered](id int, a, b T) bool {
	if mutantOn(id) {
		return a <= b
	}
	return a < b
}

func mutantMost[T mutantOrdered](id int, a, b T) bool {
	if mutantOn(id) {
		return a < b
	}
	return a <= b
}

func mutantMore[T mutantOrdered](id int, a, b T) bool {
	if mutantOn(id) {
		return a >= b
	}
	return a > b
}

func mutantLeast[T mutantOrdered](id int, a, b T) bool {
	if mutantOn(id) {
		return a > b
	}
	return a >= b
}
`

// numeric says whether the helpers can compute with a type.
func numeric(t types.Type) bool {
	basic, ok := types.Default(t).Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsInteger|types.IsFloat) != 0
}

// fits says whether a whole number, as it is written, is a value of a type.
func fits(t types.Type, number string) bool {
	basic, ok := types.Default(t).Underlying().(*types.Basic)
	if !ok || !numeric(t) {
		return false
	}
	bits := map[types.BasicKind]uint{
		types.Int8: 7, types.Uint8: 8, types.Int16: 15, types.Uint16: 16, types.Int32: 31, types.Uint32: 32,
	}[basic.Kind()]
	if bits == 0 {
		bits = 63 // a number that is larger is never changed
	}
	most := constant.Shift(constant.MakeInt64(1), token.SHL, bits)
	return constant.Compare(constant.MakeFromLiteral(number, token.INT, 0), token.LSS, most)
}
