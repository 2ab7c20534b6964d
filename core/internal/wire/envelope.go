package wire

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

var encoders = sync.Pool{New: func() any {
	b := new(bytes.Buffer)
	e := msgpack.NewEncoder(b)
	e.UseCompactInts(true)
	e.UseArrayEncodedStructs(true)
	return &encoder{b, e}
}}

type encoder struct {
	buf *bytes.Buffer
	enc *msgpack.Encoder
}

// AppendMessage appends one control frame to dst.
func AppendMessage(dst []byte, k Kind, t Type, id uint64, deadlineMs uint32, body any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	err := errors.Join(e.enc.EncodeArrayLen(6), e.enc.EncodeUint(EnvelopeVersion), e.enc.EncodeUint(uint64(k)),
		e.enc.EncodeUint(uint64(t)), e.enc.EncodeUint(id), e.enc.EncodeUint(uint64(deadlineMs)), e.enc.Encode(body))
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", t, err)
	}
	if e.buf.Len() > MaxControl {
		return dst, fmt.Errorf("the request would be a message of %d bytes, and at most %d are allowed (%s, %w): names, options and variables travel in messages; pass large values as arguments, or put them into the object store", e.buf.Len(), MaxControl, t, ErrFrameTooLarge)
	}
	return AppendFrame(dst, e.buf.Bytes()), nil
}

var decoders = sync.Pool{New: func() any { return &decoder{dec: msgpack.NewDecoder(nil)} }}

type decoder struct {
	in  bytes.Reader
	dec *msgpack.Decoder
}

// ParseMessage decodes the payload of one control frame.
func ParseMessage(b []byte) (*Message, error) {
	if err := Check(b, MaxValues); err != nil {
		return nil, err
	}
	r := decoders.Get().(*decoder)
	r.in.Reset(b)
	d := r.dec
	d.Reset(&r.in)
	n, err := d.DecodeArrayLen()
	if err != nil || n != 6 {
		return nil, fmt.Errorf("%w: header", ErrBadFrame)
	}
	var h [5]uint64
	for i := range h {
		if h[i], err = d.DecodeUint64(); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrBadFrame, err)
		}
	}
	if h[0] != EnvelopeVersion {
		return nil, fault.New(fault.VersionMismatch, "the peer writes messages of version %d, and this build reads version %d", h[0], EnvelopeVersion)
	}
	raw, err := d.DecodeRaw()
	if err != nil {
		return nil, fmt.Errorf("%w: body: %v", ErrBadFrame, err)
	}
	r.in.Reset(nil)
	decoders.Put(r) // one that met an error is not used again
	return &Message{Kind: Kind(h[1]), Type: Type(h[2]), ID: h[3], DeadlineMs: uint32(h[4]), Body: raw}, nil
}
