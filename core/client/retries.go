package client

import (
	"time"

	"github.com/eagleray/eagleray/core/refs"
)

// This file decides every retry. The other files report what happened to a run
// of a task (a setback), and get a verdict: the task runs again, at once or
// after a delay, or it ends. They carry the verdict out. What a retry costs is
// counted here and nowhere else.

// setback is what kept a run of a task from giving its results, or what has
// destroyed these results afterwards.
type setback uint8

const (
	notBegun     setback = iota // the worker, or the actor's process, ended before it began the task
	workerDied                  // the worker ended while it ran the task
	answerLost                  // the worker ended after it had run the task, and its answer did not arrive
	actorDied                   // the actor's process ended after it had begun the call, or may have begun it
	workerEnded                 // the daemon ended the worker because of what the task did there
	memoryRanOut                // the daemon ended the worker because the machine ran out of memory
	raised                      // the task raised an exception that it is tried again for
	argumentLost                // the worker found no copy of an argument
	resultLost                  // the store has lost a result of the task
	setbacks                    // how many there are
)

// attempts is what a task has used up so far. Only spend writes it.
type attempts struct {
	tries   int32 // retries that max_retries, or max_task_retries, pays for
	crashes uint8 // workers that ended while they ran the task
	ooms    uint8 // retries because the machine ran out of memory
	misses  uint8 // runs that did not begin because an argument was lost
}

// write notes in a snapshot what the task has used.
func (a attempts) write(x *willTask) {
	x.Tries, x.Crashes, x.OOMs, x.Misses = a.tries, a.crashes, a.ooms, a.misses
}

// attemptsOf is what the task of a snapshot has used.
func attemptsOf(x *willTask) attempts {
	return attempts{tries: x.Tries, crashes: x.Crashes, ooms: x.OOMs, misses: x.Misses}
}

// budget is what a task may use, and what it has used.
type budget struct {
	attempts
	most      int           // max_retries, or max_task_retries; -1: unlimited
	mostOOM   int           // task_oom_retries; -1: unlimited
	pause     time.Duration // task_retry_delay_ms: the least delay before a retry
	oomPause  time.Duration // task_oom_retry_delay_base_ms: the delay before the first retry for want of memory
	canceled  bool          // the program has cancelled the task
	allMemory bool          // a retry for want of memory asks for more memory, and the node has no more
	noLineage bool          // the user has turned the recomputing of lost results off
}

// refusal is why a task does not run again.
type refusal uint8

const (
	permitted    refusal = iota // it does run again
	cancelled                   // the program has cancelled it
	noRetries                   // it was submitted without retries
	usedUp                      // it has used up its retries
	forbidden                   // what it did ends it, however many retries it has
	noMoreMemory                // the node has not as much memory as a retry would ask for
	lostTooOften                // its arguments were lost in each run
	lineageOff                  // lost results are not computed again
)

// verdict says what becomes of a task after a setback.
type verdict struct {
	refusal
	least time.Duration // the delay before the task runs again is at least this long
	grows time.Duration // and about as long as this: spread varies it
	used  attempts      // what the task has used up by then
}

// again reports whether the task runs again.
func (v *verdict) again() bool { return v.refusal == permitted }

// wait returns the delay before the task runs again, 0 if it runs at once.
func (v *verdict) wait() time.Duration { return max(v.least, spread(v.grows)) }

// decide says what becomes of a task that has this budget after a setback.
func (b *budget) decide(s setback) verdict {
	v := verdict{used: b.attempts}
	if v.refusal = b.refuses(s); v.refusal != permitted {
		if (s == workerDied || s == answerLost) && v.refusal != cancelled { // the message says how often the task ran
			v.used.tries = oneMore(b.tries)
		}
		return v
	}
	switch s {
	case answerLost, actorDied:
		v.used.tries = oneMore(b.tries)
	case workerDied:
		v.used.tries = oneMore(b.tries)
		v.used.crashes = oneMore(b.crashes)
		v.least, v.grows = b.pause, growing(int(v.used.crashes)-1, crashDelay, maxCrashDelay)
	case raised:
		v.used.tries = oneMore(b.tries)
		v.least = b.pause
	case memoryRanOut:
		v.used.ooms = oneMore(b.ooms)
		v.least = oomDelay(b.oomPause, b.ooms)
	case argumentLost:
		v.used.misses = oneMore(b.misses)
	case resultLost: // this is a run of its own: only what the user has set a bound for goes on being counted
		v.used = attempts{tries: oneMore(b.tries)}
	}
	return v
}

// refuses says why a task does not run again after a setback.
func (b *budget) refuses(s setback) refusal {
	switch s {
	case raised: // when no retry is left the exception is the result, also of a task that is cancelled
		if why := b.exhausted(); why != permitted {
			return why
		}
	case resultLost: // the task had its results before: nobody cancels it any more
		if b.noLineage {
			return lineageOff
		}
		return b.exhausted()
	}
	switch {
	case b.canceled:
		return cancelled
	case s == workerDied, s == answerLost, s == actorDied:
		return b.exhausted()
	case s == workerEnded:
		return forbidden
	case s == argumentLost && b.misses >= maxMisses:
		return lostTooOften
	case s != memoryRanOut:
		return permitted
	case b.most == 0:
		return noRetries
	case b.mostOOM >= 0 && int(b.ooms) >= b.mostOOM:
		return usedUp
	case b.allMemory:
		return noMoreMemory
	}
	return permitted
}

// exhausted says why no retry is left of those that the user has allowed.
func (b *budget) exhausted() refusal {
	switch {
	case b.most == 0:
		return noRetries
	case b.most > 0 && int64(b.tries) >= int64(b.most):
		return usedUp
	}
	return permitted
}

// oneMore adds one to a count, which stays at the greatest number of its type.
func oneMore[T uint8 | int32](n T) T { return max(n, n+1) }

// judge decides what becomes of a task after a setback; mu held. Nothing is
// counted before spend is called.
func (c *submitter) judge(t *task, s setback) verdict {
	b := budget{attempts: t.attempts, most: t.tmpl.MaxRetries, canceled: t.canceled, noLineage: c.lineage.off}
	b.tries = t.tried()
	if t.actor == nil { // calls of an actor keep their order, so they are not delayed
		b.pause = c.retryDelay
	}
	if s == memoryRanOut {
		b.mostOOM = c.fx.Number(oomRetriesVar, oomRetries)
		b.oomPause = time.Duration(c.fx.Number(oomDelayVar, oomDelayMs)) * time.Millisecond
		b.allMemory = t.tmpl.MoreMemory && c.asksForAll(t.tmpl)
	}
	return b.decide(s)
}

// retry is judge and spend; mu held.
func (c *submitter) retry(t *task, s setback) verdict {
	v := c.judge(t, s)
	t.spend(&v)
	return v
}

// spend counts what a verdict costs; mu held.
func (t *task) spend(v *verdict) {
	before, own := t.tried(), t.tries
	t.attempts = v.used
	switch {
	case v.used.tries == before: // another run of its generator may have used these
		t.tries = own
	case t.stream != nil:
		t.stream.root().tries = v.used.tries
	}
}

// tried is how often the task was tried again. Runs of a generator for lost items
// count for the generator: all its runs share one budget of retries; mu held.
func (t *task) tried() int32 {
	if t.stream == nil {
		return t.tries
	}
	return max(t.tries, t.stream.root().tries)
}

// once says why the results of a task cannot be computed again, Whole if they can; mu held.
func (c *submitter) once(t *task) refs.Why {
	v := c.judge(t, resultLost)
	return v.whyLost()
}

// whyLost is the refusal as the record of the lost result keeps it.
func (v *verdict) whyLost() refs.Why {
	switch v.refusal {
	case lineageOff:
		return refs.Off
	case noRetries:
		return refs.NoRetries
	case usedUp:
		return refs.Exhausted
	}
	return refs.Whole
}
