package crosslanguage

import (
	"bytes"
	"encoding/binary"
)

// Operations of a pickle.
const (
	opProto     = 0x80
	opMark      = '('
	opTuple     = 't'
	opTuple1    = 0x85
	opReduce    = 'R'
	opBuild     = 'b'
	opStop      = '.'
	opNone      = 'N'
	opTrue      = 0x88
	opUnicode   = 'X'
	opBinBytes  = 'B'
	opBinInt    = 'J'
	opEmptyDict = '}'
	opSetItems  = 'u'
)

// pickle is a pickle that is being written.
type pickle struct{ bytes.Buffer }

func (p *pickle) proto() { p.Write([]byte{opProto, 3}) }

// begin begins a pickle of a tuple.
func (p *pickle) begin() {
	p.proto()
	p.WriteByte(opMark)
}

// end ends it.
func (p *pickle) end() { p.Write([]byte{opTuple, opStop}) }

func (p *pickle) sized(op byte, b []byte) {
	p.WriteByte(op)
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(b)))
	p.Write(n[:])
	p.Write(b)
}

func (p *pickle) text(s string) { p.sized(opUnicode, []byte(s)) }

func (p *pickle) bytes(b []byte) { p.sized(opBinBytes, b) }

func (p *pickle) none() { p.WriteByte(opNone) }

func (p *pickle) textOrNone(s string) {
	if s == "" {
		p.none()
		return
	}
	p.text(s)
}

func (p *pickle) number(n int) {
	p.WriteByte(opBinInt)
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(int32(n)))
	p.Write(b[:])
}
