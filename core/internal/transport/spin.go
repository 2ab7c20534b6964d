package transport

import (
	"runtime"
	"time"
)

// Falling asleep and being woken takes longer than most calls do, above all on virtual
// machines, where an idle processor is given back to the host. A wait that may soon be
// over therefore begins with looking: the thread asks the sockets again and again before
// it sleeps. How long it looks depends on what waking costs on this machine, see
// wakeup.go. A look that finds nothing is followed by waits that do not look, the more of
// them the more looks in a row were vain: looking takes time from others who compute.

const (
	spinAtLeast = 50 * time.Microsecond  // enough where waking is cheap: whoever sleeps has woken and answered by then
	spinAtMost  = 500 * time.Microsecond // however dear waking is
	spinMisses  = 6                      // after so many vain looks in a row they get no rarer
	spinFirst   = 4                      // waits before the first look: many processes never have more
	spinCalls   = 1                      // calls under way; with more of them the next answer is near anyway
)

// cpus is how many processors this process may use. With one processor, no other process could answer while we look.
var cpus = runtime.NumCPU()

// spinner decides which waits begin with looking, and for how long they look. It reads no clock.
type spinner struct {
	skips  int // waits that are to sleep at once
	misses int // looks in a row that were vain
	wakeup wakeup
}

// wanted reports whether this wait looks before it sleeps.
func (s *spinner) wanted() bool {
	if s.skips > 0 {
		s.skips--
		return false
	}
	return true
}

func (s *spinner) found() { s.misses = 0 }

// missed notes a look of the given length that found nothing, and makes the next looks rarer.
// After several such looks, long looks are rarer than short ones in proportion to their
// length, so that they take no more time in all. After a single such look only one wait sleeps,
// whatever the length was, because each wait that sleeps pays for a wake-up.
func (s *spinner) missed(looked time.Duration) {
	s.misses = min(s.misses+1, spinMisses)
	s.skips = (1<<s.misses - 1) * min(max(int(looked/spinAtLeast), 1), 1<<(s.misses-1))
}

// length is how long a look lasts when it finds nothing.
func (s *spinner) length() time.Duration {
	return min(max(s.wakeup.cost(), spinAtLeast), spinAtMost)
}
