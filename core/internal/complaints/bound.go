package complaints

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of the warnings and errors of a process. Whoever reaches a port can cause a warning with each connection, and a member of the cluster an error with
// each message.
const (
	boundTime  = time.Minute
	boundCount = 30   // with one message in that time
	boundKinds = 1024 // messages that are told apart; the others count as one
)

// Bound returns a handler that passes on at most 30 warnings and errors a minute that have one message. The next one that is passed on
// has the attribute omitted, with the number of those between. Records of lower levels always pass.
func Bound(h slog.Handler) slog.Handler {
	return &bound{Handler: h, warnings: &warnings{kinds: map[string]*warning{}}}
}

type bound struct {
	slog.Handler
	warnings *warnings
}

// warnings counts what was passed on. The lock is held for counting only.
type warnings struct {
	mu    sync.Mutex
	kinds map[string]*warning
}

type warning struct {
	since   time.Time
	count   int
	omitted int
}

// pass reports whether a warning is passed on, and how many were not since the last one.
func (w *warnings) pass(message string, now time.Time) (omitted int, pass bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[message]
	if k == nil {
		if len(w.kinds) >= boundKinds {
			message = ""
			k = w.kinds[message]
		}
		if k == nil {
			k = &warning{since: now}
			w.kinds[message] = k
		}
	}
	if now.Sub(k.since) >= boundTime {
		k.since, k.count = now, 0
	}
	if k.count >= boundCount {
		k.omitted++
		return 0, false
	}
	k.count++
	omitted, k.omitted = k.omitted, 0
	return omitted, true
}

// Handle implements slog.Handler.
func (b *bound) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return b.Handler.Handle(ctx, r)
	}
	omitted, pass := b.warnings.pass(r.Level.String()+r.Message, r.Time)
	if !pass {
		return nil
	}
	if omitted > 0 {
		r.AddAttrs(slog.Int("omitted", omitted))
	}
	return b.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (b *bound) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &bound{b.Handler.WithAttrs(attrs), b.warnings}
}

// WithGroup implements slog.Handler.
func (b *bound) WithGroup(name string) slog.Handler {
	return &bound{b.Handler.WithGroup(name), b.warnings}
}
