//go:build planted

package histories

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/planted"
)

// A bug has to show within so many histories.
const (
	usualSeeds = 300
	usualStop  = true
)

// sown are the bugs that histories have to find, each with how often it strikes: every n-th time that it could.
var sown = []struct {
	bug   planted.Bug
	every string
}{
	{planted.StaleRead, "1"},
	{planted.EarlyAck, "5"},
	{planted.SkippedSync, "1"},
	{planted.DoubleApply, "1"},
	{planted.LostDedup, "1"},
	{planted.NoFence, "1"},
}

var failed = regexp.MustCompile(`seed (\d+), \d members`)

// Each bug is found by a seed within some minutes. The build without a bug is that of TestHistories.
func TestPlanted_EachBug_IsFound(t *testing.T) {
	if os.Getenv("EAGLERAY_PLANT") != "" {
		t.Skip("this process has a bug")
	}
	for _, s := range sown {
		t.Run(string(s.bug), func(t *testing.T) {
			begun := time.Now()
			cmd := exec.Command(os.Args[0], "-test.run=^TestHistories$")
			cmd.Env = append(os.Environ(), "EAGLERAY_PLANT="+string(s.bug)+"/"+s.every)
			out, err := cmd.CombinedOutput()
			m := failed.FindSubmatch(out)
			if err == nil || m == nil {
				t.Fatalf("%s/%s is not found: %v\n%s", s.bug, s.every, err, bytes.TrimSpace(out))
			}
			t.Logf("%s/%s is found by seed %s after %v", s.bug, s.every, m[1], time.Since(begun).Round(100*time.Millisecond))
		})
	}
}
