package pressure

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/machine"
)

// Bar returns how many bytes of anonymous memory are still allowed of a room.
func (o Options) Bar(room uint64) uint64 {
	bar := uint64(float64(room) * o.Threshold)
	if o.MinFree >= 0 {
		bar = max(bar, room-min(room, uint64(o.MinFree)))
	}
	return bar
}

// Tightest returns the level that is the nearest to its bar, or the furthest
// above it, and how many bytes are left until there; none when levels is empty.
func (o Options) Tightest(levels []machine.Level) (worst machine.Level, left int64, ok bool) {
	for _, l := range levels {
		if n := int64(o.Bar(l.Room)) - int64(l.Anon); !ok || n < left {
			worst, left, ok = l, n, true
		}
	}
	return worst, left, ok
}

// fastest is how quickly processes are thought to fill memory, in bytes per second.
const fastest = 8 << 30

// soonest is the shortest time between two looks.
const soonest = 5 * time.Millisecond

// Next returns when to look again with so many bytes left: before they can be
// filled, if possible.
func (o Options) Next(left int64) time.Duration {
	return min(max(soonest, time.Duration(float64(max(left, 0))/fastest*float64(time.Second))), o.Every)
}

// over says in what the memory is short.
func (o Options) over(l machine.Level) string {
	return fmt.Sprintf("%s had %s of anonymous memory in use, more than %s of the %s that it can have (memory_usage_threshold=%g)",
		l.Name, size(l.Anon), size(o.Bar(l.Room)), size(l.Room), o.Threshold)
}

// size is Ray's way to write bytes: gigabytes with two decimals, or less for less.
func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
