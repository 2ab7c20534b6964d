package raftstate

import (
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// Outcome says whether the machine did what the command asked.
type Outcome uint8

// The outcomes. Numbers are never reused: they are kept in snapshots.
const (
	Done      Outcome = 0
	NotFound  Outcome = 1
	NameTaken Outcome = 2
	Exists    Outcome = 3
	Dead      Outcome = 4
	Stale     Outcome = 5
	JobOver   Outcome = 6
	NodeGone  Outcome = 7
	Expired   Outcome = 8 // an old retry: its result is no longer known
	CodeFull  Outcome = 9
	CodeLacks Outcome = 10 // a class has not arrived whole
	Invalid   Outcome = 11
	Conflict  Outcome = 12 // a key has another version
	LeaseGone Outcome = 13
	KeysFull  Outcome = 14
	LeaseFull Outcome = 15
	BlobsFull Outcome = 16 // no room for one more large value
)

// Result is what the machine answers. Two members give the same one.
type Result struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Index   uint64    `msgpack:"i"` // log index at which it was applied
	Outcome Outcome   `msgpack:"o"`
	Actor   ids.Actor `msgpack:"a"` // NameTaken: who has it
	Job     ids.Job   `msgpack:"j"` // JobStart
	Number  uint32    `msgpack:"m"` // NodeNumber
	Count   int       `msgpack:"n"` // KVPut: 1 when added; KVDel: how many; CodePart: bytes that are there; Conflict: the key's version
}

// ErrExpired: a retry came so late that nobody knows any more whether the
// command was applied. It is ErrMayHaveBeenApplied's sibling.
var ErrExpired = fault.New(fault.MayHaveBeenApplied, "the request is too old to tell whether it was applied")

// unnamed is the outcome of a command with a large value that cannot be named.
func unnamed(why error) Outcome {
	if errors.Is(why, values.ErrFull) {
		return BlobsFull
	}
	return Invalid
}

// err returns the error of a refused command, nil for Done.
func (r Result) err(b Body) error {
	var why error
	switch r.Outcome {
	case Done:
		return nil
	case NameTaken:
		if a := registered(b); a != nil {
			return &record.NameTakenError{Namespace: a.Namespace, Name: a.Name, Existing: r.Actor}
		}
		why = record.ErrNameTaken
	case NotFound:
		why = record.ErrNotFound
	case Exists:
		why = record.ErrExists
	case Dead:
		why = record.ErrDead
	case Stale:
		why = record.ErrStale
	case JobOver:
		why = record.ErrJobEnded
	case NodeGone:
		why = record.ErrNodeDead
	case Expired:
		why = ErrExpired
	case CodeFull:
		why = ErrCodeFull
	case CodeLacks:
		why = ErrCodeIncomplete
	case BlobsFull:
		why = record.ErrBlobsFull
	case Invalid:
		why = record.ErrInvalid
	case Conflict, LeaseGone, KeysFull, LeaseFull: // the methods of keys return these as answers
		why = fmt.Errorf("%w: outcome %d", record.ErrInvalid, r.Outcome)
	default:
		why = fmt.Errorf("outcome %d", r.Outcome)
	}
	return fmt.Errorf("%s: %w", b.subject(), why)
}

func encodeResult(r Result) ([]byte, error) { return msgpack.Marshal(&r) }

func decodeResult(b []byte) (r Result, err error) {
	if err = msgpack.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("decode the leader's answer: %w", err)
	}
	return r, nil
}
