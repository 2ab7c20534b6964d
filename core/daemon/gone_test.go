package daemon

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
)

// What is said of a worker's end is of this worker: how its process ended, what it
// announced or wrote, or that it held too much memory.
func TestEndOf_SaysHowThisWorkerEnded(t *testing.T) {
	const said = "\nIt last wrote to standard error:\n  boom"
	for name, c := range map[string]struct {
		w        worker
		has, not []string
		code     fault.Code
		bytes    uint64
	}{
		"it crashed":              {worker{pid: 7, known: true, status: 3}, []string{"pid 7 exited with code 3", "boom"}, []string{"on purpose"}, "", 0},
		"it exited with 0":        {worker{pid: 7, known: true}, []string{"pid 7 exited with code 0"}, []string{"boom"}, "", 0},
		"it said that it exits":   {worker{pid: 7, known: true, status: 3, reason: "exit_actor"}, []string{"code 3 on purpose: exit_actor"}, []string{"boom"}, "", 0},
		"a stranger killed it":    {worker{pid: 7, known: true, status: -int(unix.SIGKILL)}, []string{"SIGKILL", "nobody in this session", "boom"}, nil, "", 0},
		"the daemon killed it":    {worker{pid: 7, known: true, status: -int(unix.SIGKILL), ended: true}, []string{"SIGKILL", "boom"}, []string{"nobody in this session"}, "", 0},
		"its status is unknown":   {worker{pid: 7}, []string{"is not known"}, []string{"boom", "nobody"}, "", 0},
		"it held too much":        {worker{pid: 7, known: true, status: -int(unix.SIGKILL), exceeded: "it held 9 bytes", excess: fault.OutOfMemory, held: 9}, []string{"it held 9 bytes"}, []string{"boom", "SIGKILL"}, fault.OutOfMemory, 9},
		"it held too much of GPU": {worker{pid: 7, exceeded: "it held a GPU", excess: fault.GPUMemoryExceeded, reason: "exit"}, []string{"it held a GPU"}, []string{"on purpose"}, fault.GPUMemoryExceeded, 0},
	} {
		end := endOf(&c.w, said)
		if end.code != c.code || end.bytes != c.bytes {
			t.Errorf("%s: code %q, %d bytes", name, end.code, end.bytes)
		}
		for _, words := range c.has {
			if !strings.Contains(end.detail, words) {
				t.Errorf("%s: %q lacks %q", name, end.detail, words)
			}
		}
		for _, words := range c.not {
			if strings.Contains(end.detail, words) {
				t.Errorf("%s: %q has %q", name, end.detail, words)
			}
		}
	}
}
