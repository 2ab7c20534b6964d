package play

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// Limit bounds every wait of a test for what must come.
const Limit = 60 * time.Second

// Eventually waits until a condition holds, and fails the test after Limit.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(Limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", Limit, what)
		}
	}
}

// Running reports whether a process is there and does not only wait to be reaped.
func Running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ") && !strings.Contains(string(b), ") X ")
}

// WantCode checks that an error has a code and, in its message, some words.
func WantCode(t testing.TB, err error, code fault.Code, words string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || !strings.Contains(f.Message, words) {
		t.Errorf("got %v, want %s with %q", err, code, words)
	}
}

// Units gives amounts of resources as messages carry them, in ten thousandths.
func Units(amounts map[string]float64) map[string]int64 {
	u := map[string]int64{}
	for name, amount := range amounts {
		u[name] = int64(amount * 10000)
	}
	return u
}
