package fdlimit

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// What the system has no more of for a moment is tried again, everything else
// fails at once.
func TestRetry_Shortage_TriesAgainUntilTheLimit(t *testing.T) {
	yes := func() bool { return true }
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"no descriptor in the process":    {&os.PathError{Op: "open", Err: unix.EMFILE}, true},
		"no descriptor on the machine":    {unix.ENFILE, true},
		"no memory":                       {fmt.Errorf("map: %w", unix.ENOMEM), true},
		"a limit that passes":             {unix.EAGAIN, true},
		"a file that is not there":        {unix.ENOENT, false},
		"an error that is not a number's": {errors.New("EMFILE"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, tries := time.Now(), 0
			err := Retry(time.Second, yes, func() error { tries++; return c.err })
			took := time.Since(began)
			if !errors.Is(err, c.err) || c.again != (tries > 1) || c.again && (took <= time.Second || took > time.Second+pause) || !c.again && took != 0 {
				t.Errorf("%s: %d tries in %v gave %v", name, tries, took, err)
			}
			tries = 0
			err = Retry(time.Second, yes, func() error {
				if tries++; tries < 3 {
					return c.err
				}
				return nil
			})
			if want := map[bool]int{true: 3, false: 1}[c.again]; tries != want || (err == nil) != c.again {
				t.Errorf("%s: %d tries until it works gave %v", name, tries, err)
			}
			tries = 0
			err = Retry(time.Second, func() bool { return tries < 2 }, func() error { tries++; return c.err })
			if want := map[bool]int{true: 2, false: 1}[c.again]; tries != want || !errors.Is(err, c.err) {
				t.Errorf("%s: %d tries for somebody who left gave %v", name, tries, err)
			}
		})
	}
}

// Room for descriptors is only looked for: none of them stays open.
func TestFree_LooksAndLeavesNothingOpen(t *testing.T) {
	if err := Free(6); err != nil {
		t.Fatal(err)
	}
	first, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(first)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < 1<<16 { // more than that would take long
		if err := Free(int(limit.Cur) + 1); !errors.Is(err, unix.EMFILE) {
			t.Errorf("more than the process may have: %v", err)
		}
		if err := Free(6); err != nil {
			t.Errorf("what was tried is not given back: %v", err)
		}
	}
}
