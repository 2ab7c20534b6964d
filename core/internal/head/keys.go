package head

import (
	"context"
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/record"
)

// Keys is the key-value store of Go programs in the replicated state. Reads come from this member, and Fresh makes them fresh.
type Keys interface {
	// WriteKey changes a key, or says why not.
	WriteKey(ctx context.Context, w record.KeyWrite) (record.KeyWritten, error)
	Key(key string) (p record.KeyPair, found bool)
	ListKeys(prefix string) record.KeyList
	// WatchKeys waits until there is something to say of the keys with the prefix after a place.
	WatchKeys(ctx context.Context, prefix string, from uint64) (record.KeyChanges, error)
	// Fresh returns when this member shows all that was committed before the call.
	Fresh(ctx context.Context) error

	GrantKeyLease(ctx context.Context, ttlMs int64) (record.KeyLeased, error)
	// EndKeyLease ends a lease; once more is no error. Reign is the leadership that has counted its time, and record.ErrStale says that another
	// one has begun; 0: the holder has ended it.
	EndKeyLease(ctx context.Context, id, reign uint64) error
	KeyLease(id uint64) (l record.KeyLease, found bool)
	KeyLeases() []record.KeyLease
	// BeginKeyReign begins a leadership, and returns its name. KeyReign returns that of the last one.
	BeginKeyReign(ctx context.Context) (uint64, error)
	KeyReign() uint64
}

// WriteKey changes a key, or says why not.
func (h *Head) WriteKey(ctx context.Context, w record.KeyWrite) (record.KeyWritten, error) {
	return h.state.WriteKey(ctx, w)
}

// ReadKey returns a key's pair, and whether the key is there.
func (h *Head) ReadKey(ctx context.Context, key string) (p record.KeyPair, found bool, err error) {
	if err := record.CheckKey(key); err != nil {
		return p, false, err
	}
	if err := h.state.Fresh(ctx); err != nil {
		return p, false, err
	}
	p, found = h.state.Key(key)
	return p, found, nil
}

// ListKeys returns the pairs with the prefix.
func (h *Head) ListKeys(ctx context.Context, prefix string) (record.KeyList, error) {
	if err := record.CheckKeyPrefix(prefix); err != nil {
		return record.KeyList{}, err
	}
	if err := h.state.Fresh(ctx); err != nil {
		return record.KeyList{}, err
	}
	return h.state.ListKeys(prefix), nil
}

// WatchKeys waits until there is something to say of the keys with the prefix after a place in the sequence of changes.
func (h *Head) WatchKeys(ctx context.Context, prefix string, from uint64) (record.KeyChanges, error) {
	if err := record.CheckKeyPrefix(prefix); err != nil {
		return record.KeyChanges{}, err
	}
	return h.state.WatchKeys(ctx, prefix, from)
}

// GrantKeyLease makes a lease. The head that leads learns of it by its event.
func (h *Head) GrantKeyLease(ctx context.Context, ttlMs int64) (record.KeyLeased, error) {
	return h.state.GrantKeyLease(ctx, ttlMs)
}

// EndKeyLease ends a lease at the wish of its holder.
func (h *Head) EndKeyLease(ctx context.Context, id uint64) error {
	return h.state.EndKeyLease(ctx, id, 0)
}

// KeepKeyLease has the time of a lease begin anew, and reports false when the lease has ended or is about to. Only the head that
// leads can say so.
func (h *Head) KeepKeyLease(ctx context.Context, id uint64) (bool, error) {
	for {
		reign, kept, err := h.keyLeases.keep(ctx, id)
		if err != nil || !kept {
			return false, err
		}
		// The commit is after the word. If the reign is still the last one then, a later one begins with the whole time for this lease.
		if err := h.state.Fresh(ctx); err != nil {
			return false, err
		}
		if h.state.KeyReign() == reign {
			_, found := h.state.KeyLease(id)
			return found, nil
		}
		h.keyLeases.dethroned(reign) // and begin anew, if this head leads all the same
	}
}

// errNotLeading is what a head answers that cannot keep leases.
var errNotLeading = fault.New(fault.HeadUnavailable, "this head does not lead, and only the one that leads keeps leases of keys: ask again")

// endKeyLease has the end of a lease committed. It reports whether the state refuses that because another leadership has begun.
func (h *Head) endKeyLease(ctx context.Context, id, reign uint64) (another bool) {
	err := h.state.EndKeyLease(ctx, id, reign)
	switch {
	case err == nil:
	case errors.Is(err, record.ErrStale):
		return true
	case ctx.Err() == nil && !errors.Is(err, record.ErrClosed): // a state that closes, or leads no more, has another one after it
		h.log.Error("a lease of keys was not ended", "lease", id, "error", err)
	}
	return false
}
