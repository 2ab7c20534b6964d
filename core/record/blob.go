package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
)

// Sizes of values that the heads keep as files, and not in the replicated state.
const (
	MinBlobBytes = 64<<10 + 1 // a smaller value is in the state itself
	MaxBlobBytes = 16 << 20   // of one value
	// MaxAllBlobBytes caps what the state names, all values together and equal ones once.
	MaxAllBlobBytes = 4 << 30
)

var (
	// ErrBlobsFull says that there is no room for one more large value.
	ErrBlobsFull = fault.New(fault.StoreFull, "the heads keep at most %d MiB of large values (internal key-values, classes and environments of detached actors), and this one does not fit: delete values, or end detached actors that are not needed", MaxAllBlobBytes>>20)
	// ErrBlobLost says that no head has a large value that the state names.
	ErrBlobLost = errors.New("no head of the cluster has this large value any more")
)

// BlobNotKeptError says that the heads could not keep a large value. The change with it was not proposed.
type BlobNotKeptError struct{ Why error }

// Error says why.
func (e *BlobNotKeptError) Error() string { return e.Why.Error() }

// Unwrap returns why.
func (e *BlobNotKeptError) Unwrap() error { return e.Why }

// BlobHash is the SHA-256 of a large value.
type BlobHash [sha256.Size]byte

// String returns the hash as hexadecimal digits.
func (h BlobHash) String() string { return hex.EncodeToString(h[:]) }

// ParseBlobHash reads the hexadecimal digits of a hash.
func ParseBlobHash(s string) (h BlobHash, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("%.100q is no hash of a large value", s)
	}
	copy(h[:], b)
	return h, nil
}

// Blob names a large value that the heads keep as a file.
type Blob struct {
	Hash BlobHash `msgpack:"h"`
	Size uint32   `msgpack:"s"`
}

// BlobOf returns the name of a value.
func BlobOf(value []byte) Blob { return Blob{sha256.Sum256(value), uint32(len(value))} }

// String names the value in messages.
func (b Blob) String() string { return fmt.Sprintf("the large value %s (%d bytes)", b.Hash, b.Size) }

// None reports whether there is no large value.
func (b Blob) None() bool { return b == Blob{} }

// Check returns what is wrong with the name of a large value.
func (b Blob) Check() error {
	if b.Size == 0 || b.Size > MaxBlobBytes {
		return fmt.Errorf("%s: must have 1 to %d bytes", b, MaxBlobBytes)
	}
	return nil
}

// BlobTicket protects a large value until the command that names it is applied.
type BlobTicket [8]byte

// HeldBlob is a large value on the disks of the heads, with what protects it until a command with the ticket is applied.
type HeldBlob struct {
	Blob   Blob       `msgpack:"b"`
	Ticket BlobTicket `msgpack:"t"`
}

// ActorBlobs are those parts of an actor's record that are large values. The fields of the same names in the record are empty then.
type ActorBlobs struct {
	Spec Blob `msgpack:"spec"`
	Meta Blob `msgpack:"meta"`
	Home Blob `msgpack:"home"`
}

// List returns the large values that there are. A nil ActorBlobs has none.
func (a *ActorBlobs) List() (list []Blob) {
	if a == nil {
		return nil
	}
	for _, b := range []Blob{a.Spec, a.Meta, a.Home} {
		if !b.None() {
			list = append(list, b)
		}
	}
	return list
}
