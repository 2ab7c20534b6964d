package retry

import "time"

// Attempts is what a task has used up so far.
type Attempts struct {
	Tries   int32 // retries that max_retries, or max_task_retries, pays for
	Crashes uint8 // workers that ended while they ran the task
	OOMs    uint8 // retries because the machine ran out of memory
	Misses  uint8 // runs that did not begin because an argument was lost
}

// Budget is what a task may use, and what it has used.
type Budget struct {
	Attempts
	Most      int           // max_retries, or max_task_retries; -1: unlimited
	MostOOM   int           // task_oom_retries; -1: unlimited
	Pause     time.Duration // task_retry_delay_ms: the least delay before a retry
	OOMPause  time.Duration // task_oom_retry_delay_base_ms: the delay before the first retry for want of memory
	Canceled  bool          // the program has cancelled the task
	NoLineage bool          // the user has turned the recomputing of lost results off
}

// MaxMisses is how often one wait, or one task, may find an object lost that
// its owner says is there; the next time it fails.
const MaxMisses = 10
