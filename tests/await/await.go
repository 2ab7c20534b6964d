// Package await has what tests of several packages wait with. It imports nothing of the
// project, so that the tests of every package can use it.
package await

import (
	"testing"
	"time"
)

// Limit is how long tests wait for what must come. It only tells a test that hangs from one that is slow.
const Limit = 60 * time.Second

// Within waits until ok reports true, for conditions that no event announces. The test fails when the limit is over.
func Within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// Gone waits until the channel is closed. If it is not in time, the test fails after kill has ended what should have gone.
func Gone(t testing.TB, gone <-chan struct{}, what string, kill func() error) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(Limit):
		_ = kill()
		t.Fatalf("%s is not gone after %v", what, Limit)
	}
}
