package retry

import "time"

// Setback is what kept a run of a task from giving its results, or what has
// destroyed these results afterwards.
type Setback uint8

// The setbacks.
const (
	NotBegun     Setback = iota // the worker, or the actor's process, ended before it began the task
	WorkerDied                  // the worker ended while it ran the task
	AnswerLost                  // the worker ended after it had run the task, and its answer did not arrive
	ActorDied                   // the actor's process ended after it had begun the call, or may have begun it
	WorkerEnded                 // the daemon ended the worker because of what the task did there
	MemoryRanOut                // the daemon ended the worker because the machine ran out of memory
	Raised                      // the task raised an exception that it is tried again for
	ArgumentLost                // the worker found no copy of an argument
	ResultLost                  // the store has lost a result of the task
	NotEnlarged                 // the run that is to come cannot ask for more memory than the run before
	Setbacks                    // how many there are
)

// Refusal is why a task does not run again.
type Refusal uint8

// The refusals.
const (
	Permitted    Refusal = iota // it does run again
	Cancelled                   // the program has cancelled it
	NoRetries                   // it was submitted without retries
	UsedUp                      // it has used up its retries
	Forbidden                   // what it did ends it, however many retries it has
	NoMoreMemory                // it was to ask for more memory than before, and cannot
	LostTooOften                // its arguments were lost in each run
	LineageOff                  // lost results are not computed again
)

// Verdict says what becomes of a task after a setback.
type Verdict struct {
	Refusal
	Least time.Duration // the delay before the task runs again is at least this long
	Grows time.Duration // and about as long as this: spread varies it
	Used  Attempts      // what the task has used up by then
}

// Again reports whether the task runs again.
func (v *Verdict) Again() bool { return v.Refusal == Permitted }

// Wait returns the delay before the task runs again, 0 if it runs at once.
func (v *Verdict) Wait() time.Duration { return max(v.Least, spread(v.Grows)) }

// Decide says what becomes of a task that has this budget after a setback.
func (b *Budget) Decide(s Setback) Verdict {
	v := Verdict{Used: b.Attempts}
	if v.Refusal = b.refuses(s); v.Refusal != Permitted {
		if (s == WorkerDied || s == AnswerLost) && v.Refusal != Cancelled { // the message says how often the task ran
			v.Used.Tries = oneMore(b.Tries)
		}
		return v
	}
	switch s {
	case AnswerLost, ActorDied:
		v.Used.Tries = oneMore(b.Tries)
	case WorkerDied:
		v.Used.Tries = oneMore(b.Tries)
		v.Used.Crashes = oneMore(b.Crashes)
		v.Least, v.Grows = b.Pause, AfterCrashes(int(v.Used.Crashes))
	case Raised:
		v.Used.Tries = oneMore(b.Tries)
		v.Least = b.Pause
	case MemoryRanOut:
		v.Used.OOMs = oneMore(b.OOMs)
		v.Least = oomDelay(b.OOMPause, b.OOMs)
	case ArgumentLost:
		v.Used.Misses = oneMore(b.Misses)
	case ResultLost: // this is a run of its own: only what the user has set a bound for goes on being counted
		v.Used = Attempts{Tries: oneMore(b.Tries)}
	}
	return v
}

// refuses says why a task does not run again after a setback.
func (b *Budget) refuses(s Setback) Refusal {
	switch s {
	case Raised: // when no retry is left the exception is the result, also of a task that is cancelled
		if why := b.exhausted(); why != Permitted {
			return why
		}
	case ResultLost: // the task had its results before: nobody cancels it any more
		if b.NoLineage {
			return LineageOff
		}
		return b.exhausted()
	}
	switch {
	case b.Canceled:
		return Cancelled
	case s == WorkerDied, s == AnswerLost, s == ActorDied:
		return b.exhausted()
	case s == WorkerEnded:
		return Forbidden
	case s == NotEnlarged:
		return NoMoreMemory
	case s == ArgumentLost && b.Misses >= MaxMisses:
		return LostTooOften
	case s != MemoryRanOut:
		return Permitted
	case b.Most == 0:
		return NoRetries
	case b.MostOOM >= 0 && int(b.OOMs) >= b.MostOOM:
		return UsedUp
	}
	return Permitted
}

// exhausted says why no retry is left of those that the user has allowed.
func (b *Budget) exhausted() Refusal {
	switch {
	case b.Most == 0:
		return NoRetries
	case b.Most > 0 && int64(b.Tries) >= int64(b.Most):
		return UsedUp
	}
	return Permitted
}

// oneMore adds one to a count, which stays at the greatest number of its type.
func oneMore[T uint8 | int32](n T) T { return max(n, n+1) }
