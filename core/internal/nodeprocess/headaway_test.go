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

func TestSilentText_NamesTheHeadAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		heads []string
		why   error
		want  []string
	}{
		{[]string{"10.0.0.1:6379"}, errors.New("connection refused"), []string{"the head of the cluster, at 10.0.0.1:6379, has not answered for 31s (connection refused), and", "`eagleray stop`", "`eagleray start --address`"}},
		{[]string{"a:1", "b:1"}, nil, []string{"at a:1, b:1, has not answered for 31s, and"}},
		{nil, nil, []string{"on this machine, has not answered for 31s, and", "logs/head.log", "`eagleray start --head`"}},
		{[]string{"a:1"}, fmt.Errorf("at x: %w", link.ErrStranger), []string{"Another cluster is at its address now"}},
	} {
		got := silentText(c.heads, 31100*time.Millisecond, c.why)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q has no %q", c.why, got, want)
			}
		}
	}
}
