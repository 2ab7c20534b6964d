package executor

import (
	"encoding/hex"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// constructorRaised writes the exception to the store and returns what the
// cluster's state is to keep; mu held, released meanwhile.
func (x *Executor) constructorRaised(s *wire.ActorStart, v *Value, brief []byte) Value {
	short := Value{Fmt: uint8(store.FormatError), Meta: brief}
	text, addr, counted := strings.Cut(s.Token, "@")
	raw, err := hex.DecodeString(text)
	if err != nil || !counted {
		return short
	}
	token, err := ids.ParseObject(raw)
	if err != nil {
		return short
	}
	id := actors.RaisedID(token)
	total := v.Size()
	if err := x.local.WriteResult(id, v, total, nodestore.Writing{}); err != nil {
		return short
	}
	return envelope.PointTo(&frame.Pointer{ID: id, Owner: addr, Size: uint64(total), Brief: brief})
}
