package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// KV is the cluster's key-value store for Go programs. It is small and consistent: leaders, locks and configuration belong here, and
// large values belong into the object store. It is replicated with the cluster's state, and survives a restart of the head.
//
// All programs of a cluster share one space of keys, so begin a key with the name of the application: "shop/leader". The internal
// key-values of the Python library are another store. A key is text of 1 byte to 1 KiB, a value has at most 64 KiB, and all keys and values together have at most 64 MiB.
//
// Each change gives its key a version. Versions grow over the whole store, and are never used twice, also when a key is deleted
// and made again. All reads are linearizable: they show every change that was made before they began.
//
// A change whose answer was lost on the way is sent again and made once. When nobody can tell, the error is ErrMayHaveBeenApplied.
type KV struct {
	s       *Session
	watches atomic.Uint64 // numbers of watches

	mu     sync.Mutex
	ended  bool
	leases map[*KVLease]struct{}
}

// KV returns the cluster's key-value store.
func (s *Session) KV() *KV { return &s.kv }

// KVPair is a key with its value.
type KVPair struct {
	Key     string
	Value   []byte
	Version uint64
}

// KVList are the keys with a prefix, in order.
type KVList struct {
	Pairs []KVPair
	// Seq is the last change that the list shows. A Watch from there misses nothing.
	Seq uint64
}

// KVChange is one change of one key.
type KVChange struct {
	Seq     uint64 // counts the changes of all keys
	Key     string
	Value   []byte // nil when Deleted
	Version uint64 // of the change
	Deleted bool
	Expired bool // Deleted because its lease has ended
}

// ConflictError says that a key has another version than was expected. It is ErrVersionConflict.
type ConflictError struct {
	Key      string
	Expected uint64 // 0: the key was expected not to be there
	Present  uint64 // 0: the key is not there
}

// Error names the key and both versions.
func (e *ConflictError) Error() string {
	if e.Present == 0 {
		return fmt.Sprintf("key %q is not there, and version %d was expected: read it again", e.Key, e.Expected)
	}
	if e.Expected == 0 {
		return fmt.Sprintf("key %q is there with version %d, and was expected not to be: read it", e.Key, e.Present)
	}
	return fmt.Sprintf("key %q has version %d, and version %d was expected: read it again", e.Key, e.Present, e.Expected)
}

// FaultCode says what CodeOf says of the error.
func (e *ConflictError) FaultCode() Code { return fault.VersionConflict }

// Is reports whether the sentinel stands for the error.
func (e *ConflictError) Is(target error) bool { return target == ErrVersionConflict }

// Get returns a key's value and version. The error is ErrNotFound when the key is not there.
func (k *KV) Get(ctx context.Context, key string) (value []byte, version uint64, err error) {
	if err := checkKey(key); err != nil {
		return nil, 0, fmt.Errorf("get: %w", err)
	}
	var p *record.KeyPair
	if err := k.s.c.Ask(ctx, wire.TKeyRead, key, &p); err != nil {
		return nil, 0, fmt.Errorf("get key %q: %w", key, err)
	}
	if p == nil {
		return nil, 0, fault.New(fault.NotFound, "get key %q: it is not there", key)
	}
	return bytesOf(p.Value), p.Version, nil
}

// bytesOf makes the empty value one thing.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// List returns the keys that begin with the prefix, as they were at one moment. "" is the prefix of all keys. The error is ErrTooLarge when
// they have more than 8 MiB together, or are more than 100,000.
func (k *KV) List(ctx context.Context, prefix string) (KVList, error) {
	if err := checkPrefix(prefix); err != nil {
		return KVList{}, fmt.Errorf("list: %w", err)
	}
	var l record.KeyList
	if err := k.s.c.Ask(ctx, wire.TKeyList, prefix, &l); err != nil {
		return KVList{}, fmt.Errorf("list the keys with %q: %w", prefix, err)
	}
	if l.Large {
		return KVList{}, fault.New(fault.TooLarge, "list the keys with %q: they have more than %d MiB together, or are more than %d: list longer prefixes", prefix, record.MaxListBytes>>20, record.MaxListKeys)
	}
	r := KVList{Seq: l.Seq, Pairs: make([]KVPair, len(l.Pairs))}
	for i, p := range l.Pairs {
		r.Pairs[i] = KVPair{Key: p.Key, Value: bytesOf(p.Value), Version: p.Version}
	}
	return r, nil
}

// Put stores a value, and returns the key's new version. A lease that the key had keeps it no longer.
func (k *KV) Put(ctx context.Context, key string, value []byte) (version uint64, err error) {
	return k.write(ctx, "put", record.KeyWrite{Key: key, Value: value})
}

// CompareAndSwap stores a value if the key has that version, and returns the new one. Version 0 means that the key must not be there. Otherwise
// the error is a *ConflictError with the present version.
func (k *KV) CompareAndSwap(ctx context.Context, key string, version uint64, value []byte) (uint64, error) {
	return k.write(ctx, "swap", record.KeyWrite{Key: key, Value: value, If: true, Version: version})
}

// Delete deletes a key. A key that is not there is no error.
func (k *KV) Delete(ctx context.Context, key string) error {
	_, err := k.write(ctx, "delete", record.KeyWrite{Key: key, Delete: true})
	return err
}

// CompareAndDelete deletes a key if it has that version. Otherwise the error is a *ConflictError with the present version.
func (k *KV) CompareAndDelete(ctx context.Context, key string, version uint64) error {
	if version == 0 {
		return invalid("delete key %q: version 0 is that of a key that is not there: give the version that Get returned, or use Delete", key)
	}
	_, err := k.write(ctx, "delete", record.KeyWrite{Key: key, Delete: true, If: true, Version: version})
	return err
}

// write has a change made.
func (k *KV) write(ctx context.Context, verb string, w record.KeyWrite) (version uint64, err error) {
	if err := checkKey(w.Key); err != nil {
		return 0, fmt.Errorf("%s: %w", verb, err)
	}
	what := fmt.Sprintf("%s key %q", verb, w.Key)
	if n := len(w.Value); n > record.MaxValueBytes {
		return 0, fault.New(fault.TooLarge, "%s: the value has %d bytes, at most %d are allowed: keep large values in an object or a file, and its name here", what, n, record.MaxValueBytes)
	}
	if err := begin(ctx, what); err != nil {
		return 0, err
	}
	if err := k.s.Err(); err != nil { // nothing is sent any more
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	var r record.KeyWritten
	if err := k.s.c.Ask(ctx, wire.TKeyWrite, w, &r); err != nil {
		return 0, lostAnswer(ctx, what, err)
	}
	return r.Version, refusal(what, &w, r)
}

// lostAnswer returns the error of a change that has no answer: it may have been made, unless the error says otherwise.
func lostAnswer(ctx context.Context, what string, err error) error {
	switch code := fault.CodeOf(err); {
	case code == fault.MayHaveBeenApplied:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), code == fault.DaemonDied, code == fault.Closed, code == fault.Internal:
		return fmt.Errorf("%s: %w: %w", what, fault.New(fault.MayHaveBeenApplied, "no answer came, and the change may have been made: look at the key before you try again"), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// refusal returns why a change was not made, nil when it was.
func refusal(what string, w *record.KeyWrite, r record.KeyWritten) error {
	switch r.Outcome {
	case record.KeyDone:
		return nil
	case record.KeyConflict:
		return &ConflictError{Key: w.Key, Expected: w.Version, Present: r.Version}
	case record.KeysFull:
		return fault.New(fault.TooLarge, "%s: the key-value store is full: all keys and values of the cluster may have 64 MiB together. Delete keys that are not needed", what)
	case record.KeyLeaseFull:
		return fault.New(fault.TooLarge, "%s: its lease has as many keys as a lease may have: use another lease", what)
	case record.KeyLeaseGone:
		return fault.New(fault.LeaseLost, "%s: the lease has ended", what)
	}
	return fault.New(fault.Internal, "%s: the head's answer %q is not known", what, r.Outcome)
}

// checkKey refuses what is no key.
func checkKey(key string) error {
	if key == "" {
		return invalid("the key is empty: give it a name")
	}
	return checkPrefix(key)
}

func checkPrefix(prefix string) error {
	if n := len(prefix); n > record.MaxKeyBytes {
		return fault.New(fault.TooLarge, "the key %.40q… has %d bytes, at most %d are allowed: shorten it, for example to a hash", prefix, n, record.MaxKeyBytes)
	}
	return record.CheckKeyPrefix(prefix)
}

// Watch waits for changes of the keys that begin with the prefix, and gives each one, in order, from the first after from on. From is
// KVList.Seq, or KVChange.Seq of the last change that was seen; 0 means all changes ever.
//
//	list, err := kv.List(ctx, "shop/")
//	for change, err := range kv.Watch(ctx, "shop/", list.Seq) { … }
//
// The loop ends when the program leaves it, or with an error: the context's, ErrCompacted, or that the session has ended. While the head
// is away, or another one takes its place, the watch waits and then goes on where it was. The cluster keeps the latest 4,096 changes (4 MiB).
// A program that is slower gets ErrCompacted, lists the keys anew and watches from there. The session keeps no more than one answer
// of the cluster for a watch, which is about 1 MiB.
func (k *KV) Watch(ctx context.Context, prefix string, from uint64) iter.Seq2[KVChange, error] {
	return func(yield func(KVChange, error) bool) {
		if err := k.watch(ctx, prefix, from, yield); err != nil {
			yield(KVChange{}, fmt.Errorf("watch the keys with %q: %w", prefix, err))
		}
	}
}

// watch gives changes until yield wants no more, which is no error.
func (k *KV) watch(ctx context.Context, prefix string, from uint64, yield func(KVChange, error) bool) error {
	if err := checkPrefix(prefix); err != nil {
		return err
	}
	for {
		r, err := k.poll(ctx, prefix, from)
		switch {
		case err != nil && fault.CodeOf(err) == fault.HeadUnavailable: // the next question waits for it
			if err := pause(ctx, watchPause); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case r.Compacted:
			return fault.New(fault.Compacted, "the changes after number %d are no longer kept: list the keys anew, and watch from there", from)
		}
		for _, c := range r.List {
			change := KVChange{Seq: c.Seq, Key: c.Key, Version: c.Version, Deleted: c.Deleted, Expired: c.Deleted && c.Lease != 0}
			if !c.Deleted {
				change.Value = bytesOf(c.Value)
			}
			if !yield(change, nil) {
				return nil
			}
		}
		from = r.Next
	}
}

// poll asks once for changes. The daemon waits for them without end.
func (k *KV) poll(ctx context.Context, prefix string, from uint64) (r record.KeyChanges, err error) {
	number := k.watches.Add(1)
	err = k.s.c.Ask(ctx, wire.TKeyWatch, wire.KeyWatch{Number: number, Prefix: prefix, From: from}, &r)
	if ctx.Err() != nil {
		k.s.c.PushDaemon(wire.TKeyUnwatch, number)
	}
	return r, err
}

// watchPause is how long a watch waits when the head refuses to answer.
const watchPause = 200 * time.Millisecond

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
