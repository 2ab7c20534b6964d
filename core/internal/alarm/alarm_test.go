package alarm

import (
	"testing"
	"time"
)

const limit = time.Minute

// rings waits until the clock rings, and returns when.
func rings(t *testing.T, c *Clock) time.Duration {
	t.Helper()
	select {
	case <-c.Rings():
		return Now()
	case <-time.After(limit):
		t.Fatal("the clock does not ring")
		return 0
	}
}

// The clock rings once at the last time that was set, never before it, and at once for a time that has passed.
func TestClock_Set_RingsThenAndNotBefore(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := func(at time.Duration) {
		t.Helper()
		if err := c.Set(at); err != nil {
			t.Fatal(err)
		}
	}
	soon := Now() + 30*time.Millisecond
	set(soon)
	if at := rings(t, c); at < soon {
		t.Errorf("it rang %v too early", soon-at)
	}
	set(Now() + time.Hour)
	soon = Now() + 20*time.Millisecond
	set(soon)
	if at := rings(t, c); at < soon || at > soon+limit {
		t.Errorf("set anew, it rang at %v, not at %v", at, soon)
	}
	set(Now() + 10*time.Millisecond)
	later := Now() + 40*time.Millisecond
	set(later)
	if at := rings(t, c); at < later {
		t.Errorf("it rang at the time before, %v too early", later-at)
	}
	for _, passed := range []time.Duration{0, -time.Second, Now() - time.Second} {
		set(passed)
		rings(t, c)
	}
	select {
	case <-c.Rings():
		t.Error("it rang twice")
	default:
	}
}

// A clock that is closed cannot be set, and its goroutine ends.
func TestClock_Closed_CannotBeSet(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Set(Now() + time.Hour); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := c.Set(Now()); err == nil {
		t.Error("it was set")
	}
	select {
	case <-c.over:
	case <-time.After(limit):
		t.Error("its goroutine is left")
	}
}
