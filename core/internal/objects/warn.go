package objects

import (
	"fmt"
	"time"
)

const (
	warnAfter = 10 * time.Second // so long a request waits before its program is warned
	warnAgain = time.Minute
)

// warn tells the programs whose requests have waited for long why they wait.
func (t *Table) warn() {
	now := t.effects.now()
	for _, c := range t.turns {
		for _, r := range t.byHolder[c] {
			if now.Sub(r.since) < warnAfter || now.Before(r.warned) {
				continue
			}
			r.warned = now.Add(warnAgain)
			what := "a new object"
			if r.restore != nil {
				what = "an object that was spilled"
			}
			t.notify.Warn(r.holder, fmt.Sprintf("%s of %d bytes has waited for more than %v for room in the object store: %s; %s", what, r.size, warnAfter, t.usage(), t.waitsFor()))
		}
	}
}

// waitsFor says what has to happen before there is room.
func (t *Table) waitsFor() string {
	now := t.effects.now()
	hanging, oldest := 0, time.Duration(0)
	for b := range t.batches {
		if age := now.Sub(b.since); age >= hangsAfter {
			hanging++
			oldest = max(oldest, age)
		}
	}
	switch {
	case hanging > 0:
		return fmt.Sprintf("%d writes to disk hang, the oldest for %v", hanging, oldest.Round(time.Second))
	case t.diskErr != nil:
		return "the disk fails: " + t.diskErr.Error()
	case len(t.batches) > 0:
		return fmt.Sprintf("%d writes to disk are on their way", len(t.batches))
	}
	return "nothing can be spilled"
}
