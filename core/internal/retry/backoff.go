package retry

import (
	"math/rand/v2"
	"time"
)

// How long the delays before retries are. Decide says which of them a task gets.
// A task whose worker died runs again at once the first time, because workers
// die for reasons of their own. Then each delay is twice as long as the one
// before, so that a task that ends each of its workers does not keep the machine busy.
const (
	crashDelay    = 50 * time.Millisecond // before the second retry
	maxCrashDelay = 10 * time.Second
)

// growing is the time before a retry, before it is varied: nothing for the zeroth,
// base before the first, twice as much each time, at most limit.
func growing(n int, base, limit time.Duration) time.Duration {
	if n <= 0 || base <= 0 {
		return 0
	}
	d := min(limit, base)
	for ; n > 1 && d < limit; n-- {
		d = min(limit, 2*d)
	}
	return d
}

// AfterCrashes is the delay before something is started again whose process has died so many times in a row: none the first time.
func AfterCrashes(n int) time.Duration { return growing(n-1, crashDelay, maxCrashDelay) }

// spread varies a delay by up to a quarter of it, in both directions, so that
// tasks that failed together do not come back together.
func spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d*3/4 + rand.N(d/2+1)
}

// oomDelay is the delay before a retry for want of memory when there were n such retries before.
func oomDelay(base time.Duration, n uint8) time.Duration {
	if n >= 32 || base > maxOOMDelay>>n {
		return maxOOMDelay
	}
	return base << n
}

// The defaults of the two settings below. They are Ray's.
const (
	OOMRetries = -1
	OOMDelayMs = 1000
)

// The names of the settings that say how many retries for want of memory a task has
// (-1: unlimited), and how many milliseconds pass before the first one.
const (
	OOMRetriesVar = "task_oom_retries"
	OOMDelayVar   = "task_oom_retry_delay_base_ms"
)

// maxOOMDelay bounds the wait before such a retry.
const maxOOMDelay = time.Minute
