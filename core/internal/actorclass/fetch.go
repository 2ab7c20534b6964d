package actorclass

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxSize bounds what a worker fetches: it is what the state keeps at all.
const maxSize = 1 << 30

// Fetch returns the pickled class that an object holds of which the state has a copy.
func Fetch(d Daemon, object []byte) ([]byte, error) {
	var whole []byte
	for {
		var part wire.CodeData
		have := uint64(len(whole))
		err := d.CallDaemon(wire.TCodeGet, wire.CodeAt{ObjectID: object, Offset: have}, &part)
		switch {
		case err != nil:
			return nil, err
		case part.Size > maxSize:
			return nil, fault.New(fault.Internal, "it has %d bytes, at most %d are allowed", part.Size, maxSize)
		case len(part.Data) == 0 || have+uint64(len(part.Data)) > part.Size:
			return nil, fault.New(fault.Internal, "the cluster gave %d bytes behind %d of %d", len(part.Data), have, part.Size)
		}
		if whole == nil {
			whole = make([]byte, 0, part.Size)
		}
		whole = append(whole, part.Data...)
		if uint64(len(whole)) == part.Size {
			break
		}
	}
	e, err := store.Parse(whole)
	switch {
	case err != nil:
		return nil, err
	case e.Format != store.FormatBytes || len(e.Bufs) != 1:
		return nil, fault.New(fault.Internal, "object %x holds no class", object)
	}
	return e.Bufs[0], nil
}
