package retry

import (
	"testing"
	"time"
)

func TestBackoff_DoublesToItsBound_GiveOrTakeAQuarter(t *testing.T) {
	const base, most = 100 * time.Millisecond, 2 * time.Second
	for n, middle := range []time.Duration{0, base, 2 * base, 4 * base, 8 * base, 16 * base, most, most} {
		least, greatest := time.Hour, time.Duration(0)
		for range 2000 {
			d := spread(growing(n, base, most))
			least, greatest = min(least, d), max(greatest, d)
		}
		if least < middle*3/4 || greatest > middle*5/4 {
			t.Errorf("retry %d waits %v to %v, want about %v", n, least, greatest, middle)
		}
		if middle > 0 && (least > middle*9/10 || greatest < middle*11/10) {
			t.Errorf("retry %d waits %v to %v: all retry at the same moment", n, least, greatest)
		}
	}
	if d := spread(growing(10_000, base, most)); d < most*3/4 || d > most*5/4 {
		t.Errorf("retry 10,000 waits %v", d)
	}
}

func TestBackoff_GrowsToItsLimit(t *testing.T) {
	const base, limit = 100 * time.Millisecond, 2 * time.Second
	if d := spread(growing(0, base, limit)); d != 0 {
		t.Fatalf("the first retry waits %v", d)
	}
	for n := 1; n < 100; n++ {
		want := limit
		if n <= 5 {
			want = min(limit, base<<(n-1))
		}
		if d := spread(growing(n, base, limit)); d < want*3/4 || d > want*5/4 {
			t.Fatalf("retry %d waits %v, want %v give or take a quarter", n, d, want)
		}
	}
}

func TestOOMDelay_DoublesUpToAMinute(t *testing.T) {
	for n, want := range map[uint8]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 6: time.Minute, 40: time.Minute, 255: time.Minute} {
		if got := oomDelay(time.Second, n); got != want {
			t.Errorf("before retry %d: %v, want %v", n+1, got, want)
		}
	}
	if got := oomDelay(0, 3); got != 0 {
		t.Errorf("without a base: %v", got)
	}
}

func TestAfterCrashes_LongerEachTimeUntilTheMost(t *testing.T) {
	for n, want := range map[int]time.Duration{0: 0, 1: 0, 2: crashDelay, 3: 2 * crashDelay, 4: 4 * crashDelay, 9: 128 * crashDelay, 10: maxCrashDelay, 60: maxCrashDelay, 1 << 40: maxCrashDelay} {
		if got := AfterCrashes(n); got != want {
			t.Errorf("%d crashes: %v, want %v", n, got, want)
		}
	}
}
