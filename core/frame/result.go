package frame

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// Reply is the head of the answer to a call.
type Reply struct {
	Seq     uint32
	Flags   uint64 // see wire.ReplyAppError
	Micros  uint64 // how long the call ran
	Item    uint64 // with wire.ReplyLastItem: which item of the generator the exception is
	Results int    // how many results follow; ReadResult reads each
}

// AppendReply writes the answer to a call. results is what the functions for
// results appended, x.Results times.
func AppendReply(b []byte, x Reply, results []byte) []byte {
	fields := 5
	if x.Flags&wire.ReplyLastItem != 0 {
		fields = 6
	}
	b, at := begin(b, wire.OpReply, fields)
	b = wire.AppendUint(b, uint64(x.Seq))
	b = wire.AppendUint(b, x.Flags)
	b = wire.AppendUint(b, x.Micros)
	if fields == 6 {
		b = wire.AppendUint(b, x.Item)
	}
	b = wire.AppendArray(b, x.Results)
	return End(append(b, results...), at)
}

// ReadReply reads what follows the kind of an answer's frame, up to its results. The frame has n elements.
func ReadReply(r *wire.Reader, n int) (x Reply, err error) {
	x.Seq, x.Flags, x.Micros = readSeq(r), r.Uint(), r.Uint()
	if last := x.Flags&wire.ReplyLastItem != 0; last != (n == 6) && r.Err() == nil {
		return x, fmt.Errorf("%w: the answer to call %d has %d elements and the flags %d", wire.ErrBadFrame, x.Seq, n, x.Flags)
	} else if last {
		x.Item = r.Uint()
	}
	x.Results = r.Array()
	return x, r.Err()
}

// Item is the head of what a generator has yielded.
type Item struct {
	Seq   uint32
	Index uint64
	Flags uint64 // see wire.ReplyAppError
}

// AppendItem writes what a generator has yielded. result is what the functions
// for results appended, once.
func AppendItem(b []byte, x Item, result []byte) []byte {
	b, at := begin(b, wire.OpItem, 5)
	b = wire.AppendUint(b, uint64(x.Seq))
	b = wire.AppendUint(b, x.Index)
	b = wire.AppendUint(b, x.Flags)
	return End(append(b, result...), at)
}

// ReadItem reads what follows the kind of an item's frame; ReadResult reads the rest.
func ReadItem(r *wire.Reader) (x Item, err error) {
	x.Seq, x.Index, x.Flags = readSeq(r), r.Uint(), r.Uint()
	return x, r.Err()
}

// Result is one result of a call.
type Result struct {
	Place     uint64 // wire.PlaceInline, wire.PlaceStore, or wire.PlaceHad: the caller has it
	Envelope  []byte // in the frame
	Size      uint64 // of the envelope that lies in the store, bytes
	Contained int    // how many references are inside; ReadContained reads each
}

// ResultHead is how many bytes of a result come before its place.
const ResultHead = 1

// AppendInlineResult begins a result whose envelope has size bytes. The caller
// appends these bytes, AppendCount with the number of references inside, and
// each of them with AppendContained.
func AppendInlineResult(b []byte, size int) []byte {
	b = wire.AppendArray(b, 3)
	b = wire.AppendUint(b, wire.PlaceInline)
	return wire.AppendBinHeader(b, size)
}

// AppendStoredResult begins a result that lies in the store: AppendCount and
// AppendContained follow.
func AppendStoredResult(b []byte, size uint64) []byte {
	b = wire.AppendArray(b, 3)
	b = wire.AppendUint(b, wire.PlaceStore)
	return wire.AppendUint(b, size)
}

// AppendHadResult writes a result that the caller has.
func AppendHadResult(b []byte) []byte {
	b = wire.AppendArray(b, 3)
	b = wire.AppendUint(b, wire.PlaceHad)
	b = wire.AppendUint(b, 0)
	return wire.AppendArray(b, 0)
}

// AppendContained writes a reference inside a result. The socket of its owner
// is empty when the worker does not know the object.
func AppendContained(b []byte, id *ids.Object, owner string) []byte {
	b = wire.AppendArray(b, 2)
	b = wire.AppendBin(b, id[:])
	return wire.AppendStr(b, owner)
}

// IsStored reports whether an encoded result lies in the store.
func IsStored(result []byte) bool { return result[ResultHead] == wire.PlaceStore }

// ReadResult reads a result up to the references inside.
func ReadResult(r *wire.Reader) (x Result, err error) {
	r.Fields(3)
	switch x.Place = r.Uint(); x.Place {
	case wire.PlaceInline:
		x.Envelope = r.Bin()
	case wire.PlaceStore:
		x.Size = r.Uint()
	case wire.PlaceHad:
		r.Uint()
	default:
		return x, fmt.Errorf("%w: place %d of a result", wire.ErrBadFrame, x.Place)
	}
	x.Contained = r.Array()
	if x.Place == wire.PlaceHad && x.Contained > 0 {
		return x, fmt.Errorf("%w: %d references are inside a result that is left out", wire.ErrBadFrame, x.Contained)
	}
	return x, r.Err()
}

// ReadContained reads one reference inside a result.
func ReadContained(r *wire.Reader) (id ids.Object, owner string, err error) {
	r.Fields(2)
	raw, owner := r.Bin(), r.Str()
	if err := r.Err(); err != nil {
		return id, "", err
	}
	if id, err = ids.ParseObject(raw); err != nil {
		return id, "", fmt.Errorf("%w: %v", wire.ErrBadFrame, err)
	}
	return id, owner, nil
}
