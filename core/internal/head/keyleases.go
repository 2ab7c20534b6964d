package head

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/keyleases"
	"github.com/eagleray/eagleray/core/record"
)

// keyKeeper has package keyleases count the time of leases of keys while this head leads. It begins a reign with the first lease that
// there is, so a cluster without leases commits nothing for them.
type keyKeeper struct {
	h    *Head
	now  func() time.Duration
	wake chan struct{} // buffered by one: something has changed for run

	mu      sync.Mutex
	leading bool
	clock   *keyleases.Clock // nil: this head has no reign
	reign   uint64
	began   chan struct{} // closed when clock or leading changes; nil while nobody waits
}

func newKeyKeeper(h *Head) *keyKeeper {
	start := time.Now()
	return &keyKeeper{h: h, now: func() time.Duration { return time.Since(start) }, wake: make(chan struct{}, 1)}
}

// stir has run look at what there is to do.
func (k *keyKeeper) stir() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// changed wakes those who wait in keep; mu held.
func (k *keyKeeper) changed() {
	if k.began != nil {
		close(k.began)
		k.began = nil
	}
}

// follow notes whether this head leads, and that it may have missed events.
func (k *keyKeeper) follow(leading bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.stir()
	if !leading || !k.leading {
		k.clock = nil
	}
	k.leading = leading
	k.changed()
	if k.clock != nil {
		k.clock.Sync(k.now(), k.h.state.KeyLeases())
	}
}

// event takes a lease that was granted or has ended.
func (k *keyKeeper) event(l *record.KeyLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.clock == nil:
	case l.Ended:
		k.clock.Ended(l.ID)
	default:
		k.clock.Granted(k.now(), *l)
	}
	k.stir()
}

// keep has the time of a lease begin anew, in the reign that it returns.
func (k *keyKeeper) keep(ctx context.Context, id uint64) (reign uint64, kept bool, err error) {
	for {
		wait, reign, kept, err := k.tryKeep(id)
		if wait == nil {
			return reign, kept, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-k.h.ctx.Done():
			return 0, false, record.ErrClosed
		}
	}
}

// tryKeep keeps a lease, or returns what to wait for: that a reign begins.
func (k *keyKeeper) tryKeep(id uint64) (wait <-chan struct{}, reign uint64, kept bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, found := k.h.state.KeyLease(id)
	switch {
	case !k.leading:
		return nil, 0, false, errNotLeading
	case !found:
		return nil, 0, false, nil
	case k.clock == nil:
		if k.began == nil {
			k.began = make(chan struct{})
		}
		return k.began, 0, false, nil
	}
	k.clock.Granted(k.now(), l) // its event may not have come yet
	return nil, k.reign, k.clock.Keep(k.now(), id), nil
}

// run begins reigns and ends leases, until the head is closed.
func (k *keyKeeper) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-k.wake:
		case <-timer.C:
		case <-k.h.ctx.Done():
			return
		}
		if k.wantsReign() {
			k.beginReign()
		}
		due, reign := k.due()
		for _, id := range due {
			if another := k.h.endKeyLease(k.h.ctx, id, reign); another {
				k.dethroned(reign)
				break
			}
			k.ended(id)
		}
		timer.Reset(k.pause())
	}
}

// wantsReign reports whether there is something to count and this head has not begun yet.
func (k *keyKeeper) wantsReign() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leading && k.clock == nil && len(k.h.state.KeyLeases()) > 0
}

// beginReign commits the beginning of a reign. It may be that this head leads no more by then: then its commit goes through
// the head that does, whose next end of a lease is refused, and which begins a reign of its own.
func (k *keyKeeper) beginReign() {
	reign, err := k.h.state.BeginKeyReign(k.h.ctx)
	if err != nil {
		if k.h.ctx.Err() == nil && !errors.Is(err, record.ErrClosed) {
			k.h.log.Error("the time of leases of keys is not counted yet", "error", err)
		}
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leading {
		k.reign, k.clock = reign, keyleases.New(k.now(), k.h.state.KeyLeases())
		k.changed()
	}
}

func (k *keyKeeper) due() (list []uint64, reign uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock == nil {
		return nil, 0
	}
	return k.clock.Advance(k.now()), k.reign
}

// ended forgets a lease.
func (k *keyKeeper) ended(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clock != nil {
		k.clock.Ended(id)
	}
}

// dethroned forgets a reign after which another one has begun. When this head leads all the same, it begins anew.
func (k *keyKeeper) dethroned(reign uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reign == reign {
		k.clock = nil
		k.changed()
		k.stir()
	}
}

// retryReign is how soon the beginning of a reign is tried again after an error.
const retryReign = time.Second

// pause returns how long run may wait.
func (k *keyKeeper) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.clock == nil && k.leading && len(k.h.state.KeyLeases()) > 0:
		return retryReign
	case k.clock == nil:
		return time.Hour
	}
	at, some := k.clock.Next()
	if !some {
		return time.Hour
	}
	return max(0, at-k.now())
}
