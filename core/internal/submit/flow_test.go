package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/retry"
)

func TestTried_SaysHowOftenInWords(t *testing.T) {
	for _, c := range []struct {
		retries, tries int
		want           string
	}{{0, 1, " (max_retries=0)"}, {3, 1, ""}, {1, 2, " (tried 2 times, max_retries=1)"}, {3, 4, " (tried 4 times, max_retries=3)"}} {
		if got := afterTries(&Task{Template: &Template{MaxRetries: c.retries}, Attempts: retry.Attempts{Tries: int32(c.tries)}}); got != c.want {
			t.Errorf("%d of %d: got %q, want %q", c.tries, c.retries, got, c.want)
		}
	}
	if times(1) != "once" || times(2) != "2 times" {
		t.Errorf("%s, %s", times(1), times(2))
	}
}
