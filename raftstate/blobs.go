package raftstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// A large value (record.MinBlobBytes and more) is a file of the heads if they have a place for such files (Options.Blobs). The commands, the state and the snapshots have its hash and
// size. The file is on the disks of a majority before the command is proposed. The machine counts which values its records name, in the same way on all members.

// Blobs is where a member keeps large values. Package core/internal/blobs has one.
type Blobs interface {
	// Put writes a value to the disks of a majority of the heads with a vote.
	Put(ctx context.Context, value []byte) (record.HeldBlob, error)
	// Get returns a value. If it is not here, another head gives it. record.ErrBlobLost: no head has it.
	Get(ctx context.Context, b record.Blob) ([]byte, error)
	// Applied says that commands with these tickets have been applied, or that the state names other values than before. It must not wait for anything.
	Applied(tickets ...record.BlobTicket)
}

// blobCommandLimit is how long a command is proposed that names a value. It is much shorter than a value without such a command is kept.
const blobCommandLimit = 2 * time.Minute

// ticketed is a command that names large values.
type ticketed interface{ tickets() []record.BlobTicket }

// NamedBlob is a large value with what names it.
type NamedBlob struct {
	record.Blob
	Uses []string // for messages, in order
}

// namedBlobs returns all large values in the order of their hashes, with what names them.
func (m *Machine) namedBlobs() (list []NamedBlob) {
	uses := map[record.BlobHash][]string{}
	add := func(b record.Blob, format string, args ...any) {
		uses[b.Hash] = append(uses[b.Hash], fmt.Sprintf(format, args...))
	}
	for ns, keys := range m.kv {
		for k, v := range keys {
			for _, b := range v.Large() {
				add(b, "the value of the internal key %.100q in namespace %.100q", k, ns)
			}
		}
	}
	for _, a := range m.actors.All() {
		for _, b := range a.Blobs.List() {
			add(b, "%s, which cannot start again without it", a)
		}
		for _, object := range a.Code {
			for _, part := range m.classes.Parts(object) {
				for _, b := range part.Large() {
					add(b, "the class of %s, which cannot start again without it", a)
				}
			}
		}
	}
	for b := range m.blobs.All() {
		slices.Sort(uses[b.Hash])
		list = append(list, NamedBlob{b, uses[b.Hash]})
	}
	slices.SortFunc(list, func(a, b NamedBlob) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	return list
}

// Blobs returns the large values that this member's state names, in no order.
func (n *Node) Blobs() (list []record.Blob) {
	n.fsm.view(func(m *Machine) {
		list = slices.AppendSeq(make([]record.Blob, 0, m.blobs.Len()), m.blobs.All())
	})
	return list
}

// NamesBlob reports whether this member's state names a large value.
func (n *Node) NamesBlob(h record.BlobHash) (named bool) {
	n.fsm.view(func(m *Machine) { named = m.blobs.Users(h) > 0 })
	return named
}

// asBlob reports whether a value is kept as a file. While a head of an older release takes part, it is in the state.
func (n *Node) asBlob(size int) bool {
	return n.opts.Blobs != nil && size >= record.MinBlobBytes && n.known(&KVBlob{}) == nil
}

// hold puts a value on the disks of the heads.
func (n *Node) hold(ctx context.Context, subject string, value []byte) (record.HeldBlob, error) {
	if len(value) > record.MaxBlobBytes {
		return record.HeldBlob{}, fmt.Errorf("%s is %d bytes, at most %d are allowed: %w", subject, len(value), record.MaxBlobBytes, ErrTooLarge)
	}
	x, err := n.opts.Blobs.Put(ctx, value)
	if err != nil {
		return x, &record.BlobNotKeptError{Why: fmt.Errorf("%s: %w", subject, err)}
	}
	return x, nil
}

// earlier looks, when the value of a change could not be kept, whether the change was made already: its request may have come before, perhaps to another head.
func (n *Node) earlier(ctx context.Context, b Body, why error) (r Result, err error) {
	q, named := record.RequestIn(ctx)
	if !named || n.Fresh(ctx) != nil {
		return r, why
	}
	v := answered.Unknown
	n.fsm.view(func(m *Machine) {
		r, v = m.answered.Find(answered.Request{ID: RequestID{Client: q.Client, Seq: q.Number}})
	})
	if v != answered.Known {
		return Result{}, why
	}
	return r, r.err(b)
}

// applyHeld applies a command with values that have been put. It gives up before their tickets end.
func (x Changes) applyHeld(ctx context.Context, b Body) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, blobCommandLimit)
	defer cancel()
	return x.Apply(ctx, Command{Body: b})
}

// registerHeld adds an actor of whose record some parts are large values.
func (x Changes) registerHeld(ctx context.Context, a record.Actor) error {
	b := &ActorBlobs{Actor: a}
	b.Actor.Blobs = &record.ActorBlobs{}
	for _, part := range []struct {
		value *[]byte
		blob  *record.Blob
	}{{&b.Actor.Spec, &b.Actor.Blobs.Spec}, {&b.Actor.Meta, &b.Actor.Blobs.Meta}, {&b.Actor.Home, &b.Actor.Blobs.Home}} {
		if !x.n.asBlob(len(*part.value)) {
			continue
		}
		held, err := x.n.hold(ctx, a.String(), *part.value)
		if err != nil {
			return err
		}
		*part.value, *part.blob = nil, held.Blob
		b.Tickets = append(b.Tickets, held.Ticket)
	}
	if len(b.Tickets) == 0 { // an older head has come meanwhile
		return x.do(ctx, &RegisterActor{a})
	}
	_, err := x.applyHeld(ctx, b)
	return err
}

// get returns the bytes of a value.
func (n *Node) get(ctx context.Context, v values.Value) ([]byte, error) {
	if v.Blob == nil {
		return v.Data, nil
	}
	return n.load(ctx, *v.Blob)
}

func (n *Node) load(ctx context.Context, b record.Blob) ([]byte, error) {
	if n.opts.Blobs == nil {
		return nil, fmt.Errorf("%s: this member has no place for large values", b)
	}
	return n.opts.Blobs.Get(ctx, b)
}

// again reports whether a value is to be looked up again: it was replaced, and so removed, while it was read.
func again(err error, read, now values.Value) bool {
	return errors.Is(err, record.ErrBlobLost) && (now.Blob == nil || *now.Blob != *read.Blob)
}

// WholeActor returns a record with its large values, which Actor and ActorNamed leave out. An actor that dies meanwhile needs them no more.
func (n *Node) WholeActor(ctx context.Context, a record.Actor) (record.Actor, error) {
	whole, err := n.wholeActor(ctx, a)
	if errors.Is(err, record.ErrBlobLost) {
		if now, known := n.Actor(a.ID); known && now.Blobs == nil {
			return now, nil
		}
	}
	return whole, err
}

func (n *Node) wholeActor(ctx context.Context, a record.Actor) (record.Actor, error) {
	if a.Blobs == nil {
		return a, nil
	}
	for _, part := range []struct {
		value *[]byte
		blob  record.Blob
	}{{&a.Spec, a.Blobs.Spec}, {&a.Meta, a.Blobs.Meta}, {&a.Home, a.Blobs.Home}} {
		if part.blob.None() {
			continue
		}
		value, err := n.load(ctx, part.blob)
		if err != nil {
			return a, fmt.Errorf("%s: %w", a.String(), err)
		}
		*part.value = value
	}
	a.Blobs = nil
	return a, nil
}
