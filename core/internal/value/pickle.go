package value

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Operations of pickle, protocol 5, that are written or read here.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opNone            = 'N'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opLong1           = 0x8a
	opLong4           = 0x8b
	opBinFloat        = 'G'
	opTrue            = 0x88
	opFalse           = 0x89
	opShortUnicode    = 0x8c
	opUnicode         = 'X'
	opUnicode8        = 0x8d
	opShortBytes      = 'C'
	opBytes           = 'B'
	opBytes8          = 0x8e
	opByteArray8      = 0x96
	opEmptyList       = ']'
	opAppend          = 'a'
	opAppends         = 'e'
	opEmptyDict       = '}'
	opSetItem         = 's'
	opSetItems        = 'u'
	opEmptyTuple      = ')'
	opTuple           = 't'
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opGlobal          = 'c'
	opStackGlobal     = 0x93
	opReduce          = 'R'
	opBuild           = 'b'
	opNewObject       = 0x81
	opMemoize         = 0x94
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opProto           = 0x80
	opFrame           = 0x95
	opNextBuffer      = 0x97
	opReadonlyBuffer  = 0x98
	refsModule        = "eagleray._private.refs"
	nextRef           = "next_ref"
	actorModule       = "eagleray.actor"
	importHandle      = "import_handle"
	datetimeModule    = "datetime"
	microsecond       = int64(time.Microsecond)
	microsecondsInDay = 24 * 60 * 60 * 1000000
)

// pickled is a value as a pickle whose arrays are buffers beside it.
type pickled struct {
	b    []byte
	bufs [][]byte
	refs []ids.Object
	held []ids.Object // the tokens of actors
}

func newPickled() *pickled { return &pickled{b: []byte{opProto, 5}} }

func (p *pickled) none() { p.b = append(p.b, opNone) }

func (p *pickled) boolean(v bool) {
	if v {
		p.b = append(p.b, opTrue)
	} else {
		p.b = append(p.b, opFalse)
	}
}

func (p *pickled) integer(n int64) {
	if n == int64(int32(n)) {
		p.b = binary.LittleEndian.AppendUint32(append(p.b, opBinInt), uint32(n))
		return
	}
	p.b = binary.LittleEndian.AppendUint64(append(p.b, opLong1, 8), uint64(n))
}

func (p *pickled) unsigned(n uint64) {
	if n <= math.MaxInt64 {
		p.integer(int64(n))
		return
	}
	p.b = append(binary.LittleEndian.AppendUint64(append(p.b, opLong1, 9), n), 0)
}

func (p *pickled) float(f float64) {
	p.b = binary.BigEndian.AppendUint64(append(p.b, opBinFloat), math.Float64bits(f))
}

// sized writes a length of one, four or eight bytes, and what has it.
func (p *pickled) sized(of1, of4, of8 byte, s []byte) {
	switch n := len(s); {
	case n < 1<<8:
		p.b = append(p.b, of1, byte(n))
	case n <= math.MaxUint32:
		p.b = binary.LittleEndian.AppendUint32(append(p.b, of4), uint32(n))
	default:
		p.b = binary.LittleEndian.AppendUint64(append(p.b, of8), uint64(n))
	}
	p.b = append(p.b, s...)
}

func (p *pickled) text(s string) error {
	p.sized(opShortUnicode, opUnicode, opUnicode8, []byte(s))
	return nil
}

func (p *pickled) bytes(b []byte) error {
	p.sized(opShortBytes, opBytes, opBytes8, b)
	return nil
}

func (p *pickled) tuple()    { p.b = append(p.b, opMark) }
func (p *pickled) endTuple() { p.b = append(p.b, opTuple) }
func (p *pickled) list(int)  { p.b = append(p.b, opEmptyList, opMark) }
func (p *pickled) endList()  { p.b = append(p.b, opAppends) }
func (p *pickled) dict(int)  { p.b = append(p.b, opEmptyDict, opMark) }
func (p *pickled) endDict()  { p.b = append(p.b, opSetItems) }

// call writes the call of a module's function with what arguments writes.
func (p *pickled) call(module, name string, arguments func()) {
	p.b = append(p.b, opGlobal)
	p.b = append(p.b, module+"\n"+name+"\n"...)
	p.tuple()
	arguments()
	p.endTuple()
	p.b = append(p.b, opReduce)
}

func (p *pickled) big(n *big.Int) error {
	b := twosComplement(n)
	if len(b) < 1<<8 {
		p.b = append(p.b, opLong1, byte(len(b)))
	} else {
		p.b = binary.LittleEndian.AppendUint32(append(p.b, opLong4), uint32(len(b)))
	}
	p.b = append(p.b, b...)
	return nil
}

// twosComplement returns the bytes of n, the lowest first.
func twosComplement(n *big.Int) []byte {
	size := n.BitLen()/8 + 1 // with room for the sign
	m := n
	if n.Sign() < 0 {
		m = new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), uint(8*size)), n)
	}
	b := m.FillBytes(make([]byte, size))
	slices.Reverse(b)
	return b
}

func (p *pickled) complex(c complex128) error {
	p.call("builtins", "complex", func() { p.float(real(c)); p.float(imag(c)) })
	return nil
}

// time writes a datetime with the time zone UTC. Python has whole microseconds.
func (p *pickled) time(t time.Time) error {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return unsendable("the year %d is not one of Python's datetime, which ends with 9999", y)
	}
	p.call(datetimeModule, "datetime", func() {
		for _, n := range []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond() / int(microsecond)} {
			p.integer(int64(n))
		}
		p.call(datetimeModule, "timezone", func() { _ = p.duration(0) })
	})
	return nil
}

// duration writes a timedelta.
func (p *pickled) duration(d time.Duration) error {
	us := int64(d) / microsecond
	p.call(datetimeModule, "timedelta", func() { p.integer(0); p.integer(0); p.integer(us) })
	return nil
}

func (p *pickled) array(a store.NDArray) error {
	_, data, err := a.Envelope()
	if err != nil {
		return unsendable("%v", err)
	}
	p.call("numpy", "ndarray", func() {
		p.tuple()
		for _, n := range a.Shape {
			p.integer(int64(n))
		}
		p.endTuple()
		_ = p.text(a.DType)
		if len(data) == 0 {
			p.none()
		} else {
			p.b = append(p.b, opNextBuffer)
			p.bufs = append(p.bufs, data)
		}
		p.integer(0)
		p.none()
		_ = p.text(string(a.Order))
	})
	return nil
}

func (p *pickled) ref(id ids.Object) error {
	p.refs = append(p.refs, id)
	p.call(refsModule, nextRef, func() {})
	return nil
}

func (p *pickled) actor(h *Handle) error {
	if h.Held != (ids.Object{}) {
		p.held = append(p.held, h.Held)
	}
	p.call(actorModule, importHandle, func() {
		_ = p.bytes(h.ID)
		_ = p.text(h.Token)
		_ = p.bytes(h.Meta)
	})
	return nil
}
