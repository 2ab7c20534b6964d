package system

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestRobust_ManySessions_LeaveNothing(t *testing.T) {
	for range 5 {
		s := startSession(t, map[string]any{"num_cpus": 1})
		d := s.start(nil)
		d.Class(1, play.OneCPU, "default")
		d.Want(1, 1)
		d.Lease()
		d.Call(wire.TJobEnd, nil, nil)
		d.Peer.Close()
		s.end()
	}
}

func TestRobust_DriverDoesNotRead_OthersDoNotNotice(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	a.Class(1, play.OneCPU, "default")
	a.Want(1, 1)
	h := a.Lease()
	// The driver stops reading while its worker writes 60 MB.
	resume := a.StopsReading()
	h.Tell("flood 60000000")
	b.Class(1, play.OneCPU, "default")
	b.Want(1, 1)
	if b.Lease().Tell("pid") == "" {
		t.Error("the other driver's worker does not answer")
	}
	if kB := rss(t, b.Hello.DaemonPid); kB > 150_000 && !raceEnabled {
		t.Errorf("the daemon has %d kB", kB)
	}
	resume()
	h.Tell(`print the end\n`)
	a.Line("the end")
}

// rss returns the resident memory of a process in kB.
func rss(t *testing.T, pid int) (kB int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	fmt.Sscan(rest, &kB)
	return kB
}
