package frame

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Reply is the head of the answer to a call.
type Reply struct {
	Seq     uint32
	Flags   uint64 // see wire.ReplyAppError
	Micros  uint64 // how long the call ran
	Item    uint64 // with wire.ReplyLastItem: which item of the generator the exception is
	Held    uint64 // with wire.ReplyHeld: the number under which the worker holds what the answer refers to
	Results int    // how many results follow; ReadResult reads each
}

// AppendReply writes the answer to a call. results is what the functions for
// results appended, x.Results times.
func AppendReply(b []byte, x Reply, results []byte) []byte {
	last, held := x.Flags&wire.ReplyLastItem != 0, x.Flags&wire.ReplyHeld != 0
	b, at := begin(b, wire.OpReply, 5+int(flag(last)+flag(held)))
	b = wire.AppendUint(b, uint64(x.Seq))
	b = wire.AppendUint(b, x.Flags)
	b = wire.AppendUint(b, x.Micros)
	if last {
		b = wire.AppendUint(b, x.Item)
	}
	if held {
		b = wire.AppendUint(b, x.Held)
	}
	b = wire.AppendArray(b, x.Results)
	return End(append(b, results...), at)
}

// ReadReply reads what follows the kind of an answer's frame, up to its results. The frame has n elements.
func ReadReply(r *wire.Reader, n int) (x Reply, err error) {
	x.Seq, x.Flags, x.Micros = readSeq(r), r.Uint(), r.Uint()
	if n > 5 || x.Flags&(wire.ReplyLastItem|wire.ReplyHeld) != 0 {
		if err := x.readMore(r, n); err != nil {
			return x, err
		}
	}
	x.Results = r.Array()
	return x, r.Err()
}

// readMore reads what stands before the results of some answers only.
func (x *Reply) readMore(r *wire.Reader, n int) (err error) {
	last, held := x.Flags&wire.ReplyLastItem != 0, x.Flags&wire.ReplyHeld != 0
	if n != 5+int(flag(last)+flag(held)) && r.Err() == nil {
		return fmt.Errorf("%w: the answer to call %d has %d elements and the flags %d", wire.ErrBadFrame, x.Seq, n, x.Flags)
	}
	if last {
		x.Item = r.Uint()
	}
	if held {
		x.Held, err = readHeld(r, x.Seq)
	}
	return err
}

// readHeld reads the number under which a worker holds what an answer to a call refers to.
func readHeld(r *wire.Reader, call uint32) (uint64, error) {
	held := r.Uint()
	if held == 0 && r.Err() == nil {
		return 0, fmt.Errorf("%w: an answer to call %d is held under number 0, which is none", wire.ErrBadFrame, call)
	}
	return held, nil
}

// Item is the head of what a generator has yielded.
type Item struct {
	Seq   uint32
	Index uint64
	Flags uint64 // see wire.ReplyAppError
	Held  uint64 // as in Reply
}

// AppendItem writes what a generator has yielded. result is what the functions
// for results appended, once.
func AppendItem(b []byte, x Item, result []byte) []byte {
	held := x.Flags&wire.ReplyHeld != 0
	b, at := begin(b, wire.OpItem, 5+int(flag(held)))
	b = wire.AppendUint(b, uint64(x.Seq))
	b = wire.AppendUint(b, x.Index)
	b = wire.AppendUint(b, x.Flags)
	if held {
		b = wire.AppendUint(b, x.Held)
	}
	return End(append(b, result...), at)
}

// ReadItem reads what follows the kind of an item's frame; ReadResult reads the rest. The frame has n elements.
func ReadItem(r *wire.Reader, n int) (x Item, err error) {
	x.Seq, x.Index, x.Flags = readSeq(r), r.Uint(), r.Uint()
	held := x.Flags&wire.ReplyHeld != 0
	if held != (n == 6) && r.Err() == nil {
		return x, fmt.Errorf("%w: an item of call %d has %d elements and the flags %d", wire.ErrBadFrame, x.Seq, n, x.Flags)
	}
	if held {
		if x.Held, err = readHeld(r, x.Seq); err != nil {
			return x, err
		}
	}
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

// AppendContained writes a reference inside a result. The address of its owner
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
