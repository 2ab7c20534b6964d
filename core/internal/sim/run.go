package sim

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"
)

var (
	seeds = flag.Int("sim.seeds", 100, "with how many seeds each world is played")
	one   = flag.Uint64("sim.seed", 0, "play this seed only")
)

// searched is with how many seeds a planted bug must be found.
const searched = 2000

// World is what surrounds the machines under test.
type World interface {
	// Step does one random event and checks what followed.
	Step() error
	// Finish lets the faults end, and checks that everything comes through.
	Finish() error
}

// Run plays a world with as many seeds as the flag says, some steps with each.
func Run(t *testing.T, steps int, begin func(*Die, *Log) World) {
	t.Helper()
	first, last := uint64(1), uint64(*seeds)
	if *one != 0 {
		first, last = *one, *one
	}
	for seed := first; seed <= last; seed++ {
		if log, err := play(seed, steps, begin); err != nil {
			t.Fatalf("%v\nthe last events:\n%sseed %d fails; `make sim SEED=%d` repeats it: %v", err, log, seed, seed, err)
		}
	}
}

// Find plays a world that has a planted bug until it notices the bug. The test fails if it does not.
func Find(t *testing.T, steps int, begin func(*Die, *Log) World) {
	t.Helper()
	for seed := uint64(1); seed <= searched; seed++ {
		if _, err := play(seed, steps, begin); err != nil {
			t.Logf("found with seed %d: %v", seed, err)
			return
		}
	}
	t.Errorf("the world does not notice the bug with %d seeds", searched)
}

// Replays checks that a seed gives the same events each time.
func Replays(t *testing.T, steps int, begin func(*Die, *Log) World) {
	t.Helper()
	for seed := uint64(1); seed <= 5; seed++ {
		a, _ := play(seed, steps, begin)
		b, _ := play(seed, steps, begin)
		if a.n != b.n || a.sum != b.sum {
			t.Errorf("seed %d: two runs differ, with %d and %d events", seed, a.n, b.n)
		}
	}
}

// play plays one seed. A panic of the machines is an error, too.
func play(seed uint64, steps int, begin func(*Die, *Log) World) (log *Log, err error) {
	log = new(Log)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w := begin(NewDie(seed), log)
	for range steps {
		if err := w.Step(); err != nil {
			return log, err
		}
	}
	return log, w.Finish()
}
