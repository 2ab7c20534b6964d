package head

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

// Options configure a Head.
type Options struct {
	State  State
	Placer Placer
	Groups GroupPlacer
	// NowMs is the wall clock, in milliseconds since 1970. Nil: the system's.
	NowMs func() int64
	// Log gets what no caller can be told. Nil: slog's default.
	Log *slog.Logger
}

// Head is the head role of a daemon.
type Head struct {
	state  State
	placer Placer
	groups GroupPlacer
	nowMs  func() int64
	log    *slog.Logger

	// The state's lock may be taken while mu is held, never the other way round.
	mu         sync.Mutex
	tracker    *tracker
	groupRows  groupTracker
	leading    bool
	acted      bool          // leading, as of the last batch acted upon
	handled    uint64        // the last event acted upon
	progressed chan struct{} // closed when handled grows; nil while nobody waits

	keyLeases *keyKeeper

	inbox  *inbox
	lost   atomic.Uint64 // reports that could not be committed
	ctx    context.Context
	cancel context.CancelFunc
	ends   sync.WaitGroup
}

// Open starts the head's goroutines. The State stays the caller's to close,
// after Close.
func Open(o Options) (*Head, error) {
	if o.State == nil || o.Placer == nil || o.Groups == nil {
		return nil, errors.New("open head: it needs a state and placers")
	}
	if o.NowMs == nil {
		o.NowMs = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &Head{
		state: o.State, placer: o.Placer, groups: o.Groups, nowMs: o.NowMs, log: o.Log,
		tracker: newTracker(), groupRows: groupTracker{}, inbox: newInbox(),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.keyLeases = newKeyKeeper(h)
	h.ends.Go(h.feed)
	h.ends.Go(h.keyLeases.run)
	h.ends.Go(h.work)
	return h, nil
}

// locked calls f with the lock held. The lock is released also when f panics.
func (h *Head) locked(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// Close stops the head. Reports not yet committed are dropped; waiters are not
// answered.
func (h *Head) Close() {
	h.cancel()
	h.inbox.close()
	h.ends.Wait()
}

// Leading reports whether this head acts on the state.
func (h *Head) Leading() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leading
}

// work carries out what is put into the inbox, until the head is closed.
func (h *Head) work() {
	for {
		items := h.inbox.take()
		if items == nil {
			return
		}
		for _, item := range items {
			if h.ctx.Err() != nil {
				return
			}
			item()
		}
	}
}

// AwaitReports waits until this head leads and all reports so far are committed and
// acted upon.
func (h *Head) AwaitReports(ctx context.Context) error {
	for {
		mark := make(chan struct{})
		if !h.inbox.put(func() { close(mark) }) {
			return fmt.Errorf("await reports: %w", record.ErrClosed)
		}
		if err := h.until(ctx, mark); err != nil {
			return err
		}
		seq := h.state.Now().Seq
		behind := h.behind(seq)
		if behind == nil {
			return nil
		}
		if err := h.until(ctx, behind); err != nil {
			return err
		}
	}
}

// behind returns a channel that is closed at the next progress while event seq
// is not yet acted upon, else nil.
func (h *Head) behind(seq uint64) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handled >= seq && h.acted {
		return nil
	}
	if h.progressed == nil {
		h.progressed = make(chan struct{})
	}
	return h.progressed
}

func (h *Head) until(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("await reports: %w", ctx.Err())
	case <-h.ctx.Done():
		return fmt.Errorf("await reports: %w", record.ErrClosed)
	}
}
