package inquiry

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

const (
	// keyLanes is how many requests about keys of one process are at the head at the same time. Each waits for a commit, so one after
	// the other would be slow.
	keyLanes = 16
	// maxWatches is how many watches of one process wait at the same time.
	maxWatches = 1000
)

// KeyRequests serves the requests of one process about the key-value store. Those about one key keep their order, those about leases, too, and a
// watch waits beside them. The zero KeyRequests is ready. Its locks are held for moments only.
type KeyRequests struct {
	lanes  [keyLanes]Queue
	leases Queue

	mu      sync.Mutex
	gone    bool
	watches map[uint64]context.CancelFunc // by the process's numbers
	held    map[uint64]struct{}           // leases that the process was given and has not ended
	died    bool
}

// keyRequest says how a message is served: in which queue, and by what.
type keyRequest struct {
	what string // for the error about a head that does not answer
	read func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error)
}

var keyRequests = map[wire.Type]keyRequest{
	wire.TKeyWrite: {"change a key", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var w record.KeyWrite
		err := m.Decode(&w)
		if err == nil {
			err = w.Check()
		}
		return k.lane(w.Key), func(ctx context.Context, h KeyStore) (any, error) { return h.WriteKey(ctx, w) }, err
	}},
	wire.TKeyRead: {"get a key", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var key string
		err := m.Decode(&key)
		return k.lane(key), func(ctx context.Context, h KeyStore) (any, error) {
			p, found, err := h.ReadKey(ctx, key)
			if err != nil || !found {
				return nil, err
			}
			return p, nil
		}, err
	}},
	wire.TKeyList: {"list keys", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var prefix string
		err := m.Decode(&prefix)
		return k.lane(prefix), func(ctx context.Context, h KeyStore) (any, error) { return h.ListKeys(ctx, prefix) }, err
	}},
	wire.TKeyGrant: {"get a lease of keys", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var ttlMs int64
		err := m.Decode(&ttlMs)
		return &k.leases, func(ctx context.Context, h KeyStore) (any, error) {
			l, err := h.GrantKeyLease(ctx, ttlMs)
			if err == nil && l.Outcome == record.KeyDone && !k.hold(l.ID) {
				_ = h.EndKeyLease(ctx, l.ID) // it ends by itself otherwise
			}
			return l, err
		}, err
	}},
	wire.TKeyKeep: {"keep a lease of keys", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var id uint64
		err := m.Decode(&id)
		return &k.leases, func(ctx context.Context, h KeyStore) (any, error) {
			kept, err := h.KeepKeyLease(ctx, id)
			if err == nil && !kept {
				k.letGo(id)
			}
			return kept, err
		}, err
	}},
	wire.TKeyEnd: {"end a lease of keys", func(k *KeyRequests, m *wire.Message) (*Queue, func(context.Context, KeyStore) (any, error), error) {
		var id uint64
		err := m.Decode(&id)
		return &k.leases, func(ctx context.Context, h KeyStore) (any, error) {
			err := h.EndKeyLease(ctx, id)
			if err == nil {
				k.letGo(id)
			}
			return nil, err
		}, err
	}},
}

// lane returns the queue of a key.
func (k *KeyRequests) lane(key string) *Queue {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return &k.lanes[h.Sum32()%keyLanes]
}

// Serve serves a message, and reports false for one that is not about keys. It may wait while very many requests do. Reach returns the head
// as soon as there is one. An error is the answer to the message.
func (k *KeyRequests) Serve(ctx context.Context, reach func(context.Context) (KeyStore, error), m *wire.Message) bool {
	switch m.Type {
	case wire.TKeyWatch:
		if err := k.watch(ctx, reach, m); err != nil {
			_ = m.Fail(err)
		}
		return true
	case wire.TKeyUnwatch:
		var number uint64
		if m.Decode(&number) == nil {
			k.unwatch(number)
		}
		return true
	}
	q, ok := keyRequests[m.Type]
	if !ok {
		return false
	}
	queue, serve, err := q.read(k, m)
	if err != nil {
		_ = m.Fail(err)
		return true
	}
	queue.Add(ctx, func(ctx context.Context) {
		h, err := reach(ctx)
		var answer any
		if err == nil {
			answer, err = serve(ctx, h)
		}
		if err != nil {
			_ = m.Fail(Unanswered(q.what, Patience, err))
			return
		}
		_ = m.Reply(answer)
	})
	return true
}

// watch has a watch wait, on a goroutine of its own, for as long as it takes: a head that is away for long comes back.
func (k *KeyRequests) watch(ctx context.Context, reach func(context.Context) (KeyStore, error), m *wire.Message) error {
	var w wire.KeyWatch
	err := m.Decode(&w)
	if err == nil {
		err = record.CheckKeyPrefix(w.Prefix)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := k.enter(w.Number, cancel); err != nil {
		cancel()
		return err
	}
	go func() {
		defer k.unwatch(w.Number)
		h, err := reach(ctx)
		var changes record.KeyChanges
		if err == nil {
			changes, err = h.WatchKeys(ctx, w.Prefix, w.From)
		}
		if err != nil {
			_ = m.Fail(Unanswered("watch keys", Patience, err))
			return
		}
		_ = m.Reply(changes)
	}()
	return nil
}

// enter notes how a watch is ended.
func (k *KeyRequests) enter(number uint64, cancel context.CancelFunc) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.gone:
		return fault.New(fault.Closed, "the process has left")
	case k.watches[number] != nil:
		return fault.New(fault.BadRequest, "watch %d waits already", number)
	case len(k.watches) >= maxWatches:
		return fault.New(fault.BadRequest, "%d watches of keys of this process wait already, and there may be no more: watch a common prefix, and tell the changes apart by their keys", maxWatches)
	case k.watches == nil:
		k.watches = map[uint64]context.CancelFunc{}
	}
	k.watches[number] = cancel
	return nil
}

// unwatch ends a watch, or forgets one that has ended.
func (k *KeyRequests) unwatch(number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if cancel := k.watches[number]; cancel != nil {
		cancel()
	}
	delete(k.watches, number)
}

// hold notes a lease of the process. It reports false when the process is dead.
func (k *KeyRequests) hold(id uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.died {
		return false
	}
	if k.held == nil {
		k.held = map[uint64]struct{}{}
	}
	k.held[id] = struct{}{}
	return true
}

// letGo forgets a lease that has ended.
func (k *KeyRequests) letGo(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, id)
}

// HoldsLeases reports whether the process was given leases that it has not ended.
func (k *KeyRequests) HoldsLeases() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.held) > 0
}

// Died ends the leases of a process of which the kernel says that it is dead, and which therefore counts on nothing any more. A connection that
// has closed is no proof of that: the process may be stopped.
func (k *KeyRequests) Died(ctx context.Context, reach func(context.Context) (KeyStore, error)) {
	for _, id := range k.takeLeases() {
		k.leases.Add(ctx, func(ctx context.Context) {
			if h, err := reach(ctx); err == nil {
				_ = h.EndKeyLease(ctx, id) // it ends by itself otherwise
			}
		})
	}
}

func (k *KeyRequests) takeLeases() []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.died = true
	held := slices.Sorted(maps.Keys(k.held))
	k.held = nil
	return held
}

// End ends the watches of a process whose connection has closed. Its leases end with the process (Died), or when their time has passed.
func (k *KeyRequests) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	for _, cancel := range k.watches {
		cancel()
	}
	k.watches = nil
}
