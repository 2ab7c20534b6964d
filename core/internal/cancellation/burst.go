package cancellation

import "time"

// A burst begins after so many cancellations in a row, each within so long of the one before.
const (
	BurstAfter = 50
	burstGap   = 100 * time.Millisecond
)

// Burst counts cancellations. The caller of a single cancellation waits until the worker has
// heard of it. When there are thousands in a row, not each of them should cost a round trip.
type Burst struct {
	Last time.Time
	N    int
}

// Few counts a cancellation, and reports whether it is no part of a burst.
func (b *Burst) Few(now time.Time) bool {
	if now.Sub(b.Last) > burstGap {
		b.N = 0
	}
	b.Last = now
	b.N++
	return b.N <= BurstAfter
}
