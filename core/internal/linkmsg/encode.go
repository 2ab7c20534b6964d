package linkmsg

import (
	"bytes"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// MaxBody bounds one body, in bytes. The message around it needs a little room, too.
const MaxBody = wire.MaxControl - 1<<10

var encoders = sync.Pool{New: func() any {
	b := new(bytes.Buffer)
	e := msgpack.NewEncoder(b)
	e.UseCompactInts(true)
	return &encoder{b, e}
}}

type encoder struct {
	buf *bytes.Buffer
	enc *msgpack.Encoder
}

// keptBuffer is the largest buffer that is kept for the next body.
const keptBuffer = 1 << 20

// Nothing is the body of a message that has none.
var Nothing = msgpack.RawMessage{0xc0}

// Encode returns a body as a map. What says what the body belongs to.
func Encode(what string, v any) (msgpack.RawMessage, error) {
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return nil, fault.New(fault.BadRequest, "%s cannot be sent to another node: %v", what, err)
	}
	if e.buf.Len() > MaxBody {
		return nil, fault.New(fault.BadRequest, "%s has %d bytes, and at most %d may be sent to another node in one message", what, e.buf.Len(), MaxBody)
	}
	b := bytes.Clone(e.buf.Bytes())
	if e.buf.Cap() <= keptBuffer { // an encoder that met an error is not used again
		encoders.Put(e)
	}
	return b, nil
}

// Decode reads a body of at most limit bytes into v.
func Decode(what string, b []byte, limit int, v any) error {
	if len(b) > limit {
		return fault.New(fault.BadRequest, "%s has %d bytes, at most %d are allowed", what, len(b), limit)
	}
	if err := wire.Check(b, wire.MaxValues); err != nil {
		return fault.New(fault.BadRequest, "%s: %v", what, err)
	}
	if err := msgpack.Unmarshal(b, v); err != nil {
		return fault.New(fault.BadRequest, "%s: %v", what, err)
	}
	return nil
}
