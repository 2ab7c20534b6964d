package inquiry

import (
	"context"

	"github.com/eagleray/eagleray/core/record"
)

// KeyStore is the key-value store of Go programs, as a node needs it. Questions show all changes that were committed before they were asked. An
// error means that there is no answer.
type KeyStore interface {
	// WriteKey changes a key, or says why not.
	WriteKey(ctx context.Context, w record.KeyWrite) (record.KeyWritten, error)
	ReadKey(ctx context.Context, key string) (p record.KeyPair, found bool, err error)
	ListKeys(ctx context.Context, prefix string) (record.KeyList, error)
	// WatchKeys waits until there is something to say of the keys with the prefix after a place in the sequence of changes.
	WatchKeys(ctx context.Context, prefix string, from uint64) (record.KeyChanges, error)

	// GrantKeyLease makes a lease. The head counts its time from now on.
	GrantKeyLease(ctx context.Context, ttlMs int64) (record.KeyLeased, error)
	// KeepKeyLease has the time of a lease begin anew. It reports false when the lease has ended or is about to. When it reports true, no head
	// ends the lease before its whole time has passed after the call.
	KeepKeyLease(ctx context.Context, id uint64) (bool, error)
	// EndKeyLease ends a lease at once; once more is no error.
	EndKeyLease(ctx context.Context, id uint64) error
}
