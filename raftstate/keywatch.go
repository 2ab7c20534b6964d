package raftstate

import (
	"context"
	"strings"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
)

// keyWatch is a caller that waits for changes of keys. A change wakes those whom it concerns: a store may have many watches and many changes. The lock
// of fsm guards it.
type keyWatch struct {
	prefix string
	from   uint64
	wake   chan struct{} // closed when there is something to say
}

// concerns reports whether the watch has to look at the store after these changes, the last of which is last.
func (w *keyWatch) concerns(changes []record.KeyChange, last uint64) bool {
	if last-w.from >= keyspace.ProgressAfter {
		return true
	}
	for i := range changes {
		if strings.HasPrefix(changes[i].Key, w.prefix) {
			return true
		}
	}
	return false
}

// wakeWatches wakes the watches that the changes after a place concern; the lock is held.
func (f *fsm) wakeWatches(before uint64) {
	changes, last := f.machine.keys.After(before), f.machine.keys.Seq()
	for w := range f.watches {
		if w.concerns(changes, last) {
			f.wakeWatch(w)
		}
	}
}

// wakeAllWatches has all watches look: the state is another one; the lock is held.
func (f *fsm) wakeAllWatches() {
	for w := range f.watches {
		f.wakeWatch(w)
	}
}

func (f *fsm) wakeWatch(w *keyWatch) {
	close(w.wake)
	delete(f.watches, w)
}

// keysSince returns what there is to say of keys after a place, or a watch that is woken when there is.
func (f *fsm) keysSince(prefix string, from uint64) (record.KeyChanges, *keyWatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, some := f.machine.keys.Since(prefix, from)
	if some {
		return r, nil
	}
	w := &keyWatch{prefix, from, make(chan struct{})}
	f.watches[w] = struct{}{}
	return r, w
}

// unwatch forgets a watch that nobody waits for any more.
func (f *fsm) unwatch(w *keyWatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watches, w)
}

// WatchKeys waits until there is something to say of the keys with the prefix after a place: changes, or that they are no longer
// kept. The errors are record.ErrClosed and the context's.
func (n *Node) WatchKeys(ctx context.Context, prefix string, from uint64) (record.KeyChanges, error) {
	fresh := false
	for {
		r, w := n.fsm.keysSince(prefix, from)
		switch {
		case w == nil && r.Compacted && !fresh:
			// A member that was ahead of this one may have told of the changes up to there.
			if err := n.Fresh(ctx); err != nil {
				return record.KeyChanges{}, err
			}
			fresh = true
			continue
		case w == nil:
			return r, nil
		}
		if err := n.awaitKeys(ctx, w); err != nil {
			return record.KeyChanges{}, err
		}
	}
}

// awaitKeys waits until a watch is woken.
func (n *Node) awaitKeys(ctx context.Context, w *keyWatch) error {
	defer n.fsm.unwatch(w)
	select {
	case <-w.wake:
		return nil
	case <-n.failed:
		return record.ErrClosed
	case <-n.stop:
		return record.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
