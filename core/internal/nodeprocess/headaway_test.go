package nodeprocess

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
)

func TestAwayText_SaysWhyAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		why  error
		want []string
	}{
		{nil, []string{"nothing was heard of it for 7s. What runs here goes on"}},
		{errors.New("connection refused"), []string{"for 7s (connection refused). What runs here goes on", "`eagleray stop`"}},
		{fmt.Errorf("at x: %w", link.ErrStranger), []string{"Another cluster is at its address now", "`eagleray start --address`"}},
	} {
		got := awayText(7100*time.Millisecond, c.why)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q has no %q", c.why, got, want)
			}
		}
	}
}
