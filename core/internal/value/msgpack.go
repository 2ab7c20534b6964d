package value

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// packed is a value as msgpack, with the shortest integers.
type packed struct{ b []byte }

func (p *packed) none() { p.b = append(p.b, 0xc0) }

func (p *packed) boolean(v bool) {
	if v {
		p.b = append(p.b, 0xc3)
	} else {
		p.b = append(p.b, 0xc2)
	}
}

func (p *packed) integer(n int64) {
	switch {
	case n >= 0:
		p.unsigned(uint64(n))
	case n >= -32:
		p.b = append(p.b, byte(n))
	case n >= math.MinInt8:
		p.b = append(p.b, 0xd0, byte(n))
	case n >= math.MinInt16:
		p.b = binary.BigEndian.AppendUint16(append(p.b, 0xd1), uint16(n))
	case n >= math.MinInt32:
		p.b = binary.BigEndian.AppendUint32(append(p.b, 0xd2), uint32(n))
	default:
		p.b = binary.BigEndian.AppendUint64(append(p.b, 0xd3), uint64(n))
	}
}

func (p *packed) unsigned(n uint64) {
	switch {
	case n < 1<<7:
		p.b = append(p.b, byte(n))
	case n < 1<<8:
		p.b = append(p.b, 0xcc, byte(n))
	case n < 1<<16:
		p.b = binary.BigEndian.AppendUint16(append(p.b, 0xcd), uint16(n))
	case n < 1<<32:
		p.b = binary.BigEndian.AppendUint32(append(p.b, 0xce), uint32(n))
	default:
		p.b = binary.BigEndian.AppendUint64(append(p.b, 0xcf), n)
	}
}

func (p *packed) float(f float64) {
	p.b = binary.BigEndian.AppendUint64(append(p.b, 0xcb), math.Float64bits(f))
}

// head writes the form of a length: small when it is below limit, else of 8 (unless 0), 16 or 32 bits.
func (p *packed) head(n int, small byte, limit int, form8, form16, form32 byte) {
	switch {
	case n < limit:
		p.b = append(p.b, small|byte(n))
	case form8 != 0 && n < 1<<8:
		p.b = append(p.b, form8, byte(n))
	case n < 1<<16:
		p.b = binary.BigEndian.AppendUint16(append(p.b, form16), uint16(n))
	default:
		p.b = binary.BigEndian.AppendUint32(append(p.b, form32), uint32(n))
	}
}

func (p *packed) text(s string) error {
	if len(s) > math.MaxUint32 {
		return errNeedsPickle
	}
	p.head(len(s), 0xa0, 32, 0xd9, 0xda, 0xdb)
	p.b = append(p.b, s...)
	return nil
}

func (p *packed) bytes(b []byte) error {
	if len(b) > math.MaxUint32 {
		return errNeedsPickle
	}
	p.head(len(b), 0, 0, 0xc4, 0xc5, 0xc6)
	p.b = append(p.b, b...)
	return nil
}

func (p *packed) tuple()     { p.b = append(p.b, 0x93) }
func (p *packed) endTuple()  {}
func (p *packed) list(n int) { p.head(n, 0x90, 16, 0, 0xdc, 0xdd) }
func (p *packed) endList()   {}
func (p *packed) dict(n int) { p.head(n, 0x80, 16, 0, 0xde, 0xdf) }
func (p *packed) endDict()   {}

func (p *packed) big(*big.Int) error           { return errNeedsPickle }
func (p *packed) complex(complex128) error     { return errNeedsPickle }
func (p *packed) time(time.Time) error         { return errNeedsPickle }
func (p *packed) duration(time.Duration) error { return errNeedsPickle }
func (p *packed) array(store.NDArray) error    { return errNeedsPickle }
func (p *packed) ref(ids.Object) error         { return errNeedsPickle }
func (p *packed) actor(*Handle) error          { return errNeedsPickle }
