package record

import (
	"time"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/fault"
)

// Bounds of the key-value store of Go programs.
const (
	MaxKeyBytes   = 1 << 10  // of a key
	MaxValueBytes = 64 << 10 // of a value
	MaxListBytes  = 8 << 20  // of the keys and values that one question returns
	MaxListKeys   = 100_000  // that one question returns
	MinKeyLease   = time.Second
	MaxKeyLease   = time.Hour
)

// KeyWrite asks for one change of one key.
type KeyWrite struct {
	Key    string `msgpack:"key"`
	Value  []byte `msgpack:"val"`
	Delete bool   `msgpack:"del,omitempty"`
	// If makes the change conditional: the key must have Version now. Version 0 means that it is not there.
	If      bool   `msgpack:"if,omitempty"`
	Version uint64 `msgpack:"ver,omitempty"`
	// Lease is the lease with which the key ends; 0: none.
	Lease uint64 `msgpack:"lease,omitempty"`
}

// Check refuses what no state could accept.
func (w *KeyWrite) Check() error {
	switch {
	case w.Delete && len(w.Value) > 0:
		return fault.New(fault.BadRequest, "key %q is to be deleted and has a value: give one of them", w.Key)
	case w.Delete && w.Lease != 0:
		return fault.New(fault.BadRequest, "key %q is to be deleted and has a lease: give one of them", w.Key)
	case len(w.Value) > MaxValueBytes:
		return fault.New(fault.BadRequest, "the value of key %q has %d bytes, at most %d are allowed: keep large values in an object or a file, and its name here", w.Key, len(w.Value), MaxValueBytes)
	}
	return CheckKey(w.Key)
}

// CheckKey refuses what is no key.
func CheckKey(key string) error {
	if key == "" {
		return fault.New(fault.BadRequest, "the key is empty: give it a name")
	}
	return CheckKeyPrefix(key)
}

// CheckKeyPrefix refuses what is no beginning of a key. The empty one is that of all keys.
func CheckKeyPrefix(prefix string) error {
	switch {
	case len(prefix) > MaxKeyBytes:
		return fault.New(fault.BadRequest, "the key %.40q… has %d bytes, at most %d are allowed: shorten it, for example to a hash", prefix, len(prefix), MaxKeyBytes)
	case !utf8.ValidString(prefix):
		return fault.New(fault.BadRequest, "the key %.40q is not UTF-8: encode it as text", prefix)
	}
	return nil
}

// KeyOutcome says what became of a KeyWrite.
type KeyOutcome string

// The outcomes of a KeyWrite, and of a request for a lease. Names are never reused.
const (
	KeyDone      KeyOutcome = ""
	KeyConflict  KeyOutcome = "conflict"   // the key has another version
	KeyLeaseGone KeyOutcome = "lease_gone" // there is no such lease, or no more
	KeysFull     KeyOutcome = "full"       // the store has no room
	KeyLeaseFull KeyOutcome = "lease_full" // too many leases, or too many keys with one
)

// KeyWritten answers a KeyWrite.
type KeyWritten struct {
	Outcome KeyOutcome `msgpack:"out"`
	// Version is that of the change, and with KeyConflict the version that the key has: 0 when it is not there.
	Version uint64 `msgpack:"ver"`
}

// KeyPair is a key with what it holds.
type KeyPair struct {
	Key     string `msgpack:"key"`
	Value   []byte `msgpack:"val"`
	Version uint64 `msgpack:"ver"`             // log index of its last change
	Lease   uint64 `msgpack:"lease,omitempty"` // 0: none
}

// KeyList are the keys with a prefix, in order.
type KeyList struct {
	Pairs []KeyPair `msgpack:"pairs"`
	Seq   uint64    `msgpack:"seq"`  // the last change that the list shows
	Large bool      `msgpack:"much"` // there is more than one answer may hold, and Pairs is empty
}

// KeyChange is one change of one key.
type KeyChange struct {
	Seq     uint64 `msgpack:"seq"` // counts the changes of all keys from 1, without gaps
	Version uint64 `msgpack:"ver"` // log index of the change
	Key     string `msgpack:"key"`
	Value   []byte `msgpack:"val,omitempty"`
	Deleted bool   `msgpack:"del,omitempty"`
	Lease   uint64 `msgpack:"lease,omitempty"` // that the key has, or with Deleted the one that ended; 0: none
}

// KeyChanges are the changes of the keys with a prefix after a place in the sequence.
type KeyChanges struct {
	List      []KeyChange `msgpack:"list"`
	Next      uint64      `msgpack:"next"` // the place to go on from
	Compacted bool        `msgpack:"gone"` // the changes are no longer kept: list the keys anew
}

// KeyLease is a lease of keys. Its ID is the log index at which it was granted.
type KeyLease struct {
	ID    uint64 `msgpack:"id"`
	TTLMs int64  `msgpack:"ttl"`
	Ended bool   `msgpack:"ended,omitempty"` // in an event
}

// TTL returns how long the lease lasts without a word of its holder.
func (l KeyLease) TTL() time.Duration { return time.Duration(l.TTLMs) * time.Millisecond }

// CheckKeyLease refuses a time that no lease may have.
func CheckKeyLease(ttlMs int64) error {
	if ttl := time.Duration(ttlMs) * time.Millisecond; ttlMs > MaxKeyLease.Milliseconds() || ttl < MinKeyLease {
		return fault.New(fault.BadRequest, "a lease of %d ms: it must last from %v to %v", ttlMs, MinKeyLease, MaxKeyLease)
	}
	return nil
}

// KeyLeased answers a request for a lease.
type KeyLeased struct {
	Outcome KeyOutcome `msgpack:"out"`
	ID      uint64     `msgpack:"id"`
}
