package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/store"
)

// What a pickle becomes is bounded, for one that mentions a list again and again has it each time.
const (
	fewParts     = 1 << 20 // that every pickle may have
	partsPerByte = 64      // of the pickle, in addition
)

// unpickle returns the value of a pickle as few Go types. No code that the pickle names is run.
func unpickle(b []byte, bufs [][]byte, r *Reader) (any, error) {
	u := &unpickler{b: b, bufs: bufs, r: r, parts: fewParts + partsPerByte*len(b)}
	for {
		op, err := u.byte()
		if err != nil {
			return nil, err
		}
		if op == opStop {
			break
		}
		if err := u.step(op); err != nil {
			return nil, err
		}
	}
	v, err := u.pop()
	if err != nil {
		return nil, err
	}
	return u.plain(v, 0)
}

// step carries one operation out.
func (u *unpickler) step(op byte) error {
	switch op {
	case opProto:
		_, err := u.byte()
		return err
	case opFrame:
		_, err := u.take(8)
		return err
	case opMark:
		u.marks = append(u.marks, len(u.stack))
	case opPop:
		_, err := u.pop()
		return err
	case opPopMark:
		_, err := u.popTo()
		return err
	case opNone:
		u.push(nil)
	case opTrue, opFalse:
		u.push(op == opTrue)
	case opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opBinFloat:
		return u.scalar(op)
	case opShortUnicode, opUnicode, opUnicode8:
		b, err := u.sized(map[byte]int{opShortUnicode: 1, opUnicode: 4, opUnicode8: 8}[op])
		if err == nil && !utf8.Valid(b) {
			return fmt.Errorf("%w: a str with a lone surrogate, which UTF-8 cannot represent", store.ErrNotPlain)
		}
		u.push(string(b))
		return err
	case opShortBytes, opBytes, opBytes8, opByteArray8:
		b, err := u.sized(map[byte]int{opShortBytes: 1, opBytes: 4, opBytes8: 8, opByteArray8: 8}[op])
		u.push(append([]byte{}, b...))
		return err
	case opGlobal, opStackGlobal:
		return u.global(op)
	case opReduce, opBuild:
		two, err := u.popN(2)
		if err != nil {
			return err
		}
		made, err := u.make(op, two[0], two[1])
		u.push(made)
		return err
	case opNextBuffer:
		if len(u.bufs) == 0 {
			return fmt.Errorf("%w: it has no further buffer", errBadPickle)
		}
		u.push(buffer(u.bufs[0]))
		u.bufs = u.bufs[1:]
	case opReadonlyBuffer:
	case opMemoize, opBinPut, opLongBinPut, opBinGet, opLongBinGet:
		return u.memory(op)
	default:
		return u.container(op)
	}
	return nil
}

func (u *unpickler) scalar(op byte) error {
	switch op {
	case opBinInt:
		n, err := u.number(4)
		u.push(int64(int32(n)))
		return err
	case opBinInt1:
		n, err := u.number(1)
		u.push(int64(n))
		return err
	case opBinInt2:
		n, err := u.number(2)
		u.push(int64(n))
		return err
	case opBinFloat:
		b, err := u.take(8)
		if err == nil {
			u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return err
	}
	size := 1
	if op == opLong4 {
		size = 4
	}
	b, err := u.sized(size)
	u.push(integerOf(b))
	return err
}

// integerOf returns a number in two's complement, the lowest byte first, as the narrowest of the types for it.
func integerOf(b []byte) any {
	be := slices.Clone(b)
	slices.Reverse(be)
	n := new(big.Int).SetBytes(be)
	if len(be) > 0 && be[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.IsUint64():
		return n.Uint64()
	}
	return n
}

func (u *unpickler) memory(op byte) error {
	var at uint64
	var err error
	switch op {
	case opMemoize:
		at = uint64(len(u.memo))
	case opBinPut, opBinGet:
		at, err = u.number(1)
	default:
		at, err = u.number(4)
	}
	switch {
	case err != nil:
		return err
	case op == opBinGet, op == opLongBinGet:
		if at >= uint64(len(u.memo)) {
			return fmt.Errorf("%w: nothing at %d", errBadPickle, at)
		}
		u.push(u.memo[at])
	case len(u.stack) == 0 || at > uint64(len(u.memo)):
		return fmt.Errorf("%w: nothing to be kept at %d", errBadPickle, at)
	case at == uint64(len(u.memo)):
		u.memo = append(u.memo, u.stack[len(u.stack)-1])
	default:
		u.memo[at] = u.stack[len(u.stack)-1]
	}
	return nil
}

// container carries out what makes and fills lists, tuples and dicts.
func (u *unpickler) container(op byte) (err error) {
	var items []any
	switch op {
	case opEmptyList:
		u.push(&list{})
		return nil
	case opEmptyDict:
		u.push(&dict{})
		return nil
	case opEmptyTuple:
	case opTuple1, opTuple2, opTuple3:
		items, err = u.popN(int(op-opTuple1) + 1)
	case opAppend:
		items, err = u.popN(1)
	case opSetItem:
		items, err = u.popN(2)
	case opTuple, opAppends, opSetItems:
		items, err = u.popTo()
	case opNewObject:
		if items, err = u.popN(2); err != nil {
			return err
		}
		if g, ok := items[0].(global); ok {
			return notPlain(g)
		}
		return fmt.Errorf("%w: an object of no class", errBadPickle)
	default:
		return fmt.Errorf("%w: a set, or another type without a form in Go (operation 0x%x of its pickle)", store.ErrNotPlain, op)
	}
	if err != nil {
		return err
	}
	switch op {
	case opAppend, opAppends, opSetItem, opSetItems:
		return u.fill(items, op == opSetItem || op == opSetItems)
	}
	u.push(tuple(items))
	return nil
}

// fill adds items to the list or dict on top of the stack.
func (u *unpickler) fill(items []any, pairs bool) error {
	top, err := u.pop()
	if err != nil {
		return err
	}
	switch x := top.(type) {
	case *list:
		if pairs {
			return fmt.Errorf("%w: a list has no keys", errBadPickle)
		}
		x.items = append(x.items, items...)
	case *dict:
		if !pairs || len(items)%2 != 0 {
			return fmt.Errorf("%w: a dict has keys and values", errBadPickle)
		}
		for i := 0; i < len(items); i += 2 {
			x.keys, x.values = append(x.keys, items[i]), append(x.values, items[i+1])
		}
	default:
		return fmt.Errorf("%w: %T has no items", errBadPickle, top)
	}
	u.push(top)
	return nil
}
