package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// starts has a worker of the first node submit tasks that run at the second node. The worker ends at once, and
// starts returns its process and references to the tasks' results.
func (x *placed) starts(name string, n, retries int, path string) (pid int, refs []ids.Object) {
	x.t.Helper()
	tm := x.template("starts", 0, func(t *Template) {
		t.MaxCalls, t.Resources = 1, play.Units(map[string]float64{"CPU": 1, "a": 1})
	})
	parent := submitText(x.t, x.Client, tm, fmt.Sprint(name, " ", n, " ", retries, " ", path))
	said, code := outcome(x.t, x.Client, parent)
	if code != "" {
		x.t.Fatalf("the parent: %s, %s", said, code)
	}
	words := strings.Fields(said)
	pid, err := strconv.Atoi(words[0])
	if err != nil {
		x.t.Fatal(err)
	}
	for _, word := range words[1:] {
		id, err := takeRef(x.Client, word)
		if err != nil {
			x.t.Fatal(err)
		}
		refs = append(refs, id)
	}
	x.Release(Drop{Object: parent})
	if len(refs) != n {
		x.t.Fatalf("%d references, want %d", len(refs), n)
	}
	return pid, refs
}

// ends waits until the process of a worker has ended.
func (x *placed) ends(pid int) {
	x.t.Helper()
	x.eventually("the worker's process ends", func() bool { return unix.Kill(pid, 0) == unix.ESRCH })
}

// nothingStays waits until no process but the driver is needed, and nothing is owned or leased.
func (x *placed) nothingStays(refs []ids.Object) {
	x.t.Helper()
	for _, id := range refs {
		x.Release(Drop{Object: id})
	}
	x.eventually("nothing is borrowed", func() bool { owned, borrowed := x.Holds(); return owned+borrowed == 0 })
	x.settled()
	x.eventually("the successor ends, and its connections", func() bool {
		var there map[string]uint64
		x.members[1].Tool().Call(wire.TFootprint, wire.FootprintAsk{}, &there)
		return there["n_owners"] == there["n_workers"] && there["n_begun"] == 0 && there["n_pipes"] == 0
	})
}

// A worker that has tasks at another node ends at once: its process is gone while they run and while others wait for
// their turn. Each runs once, and whoever holds its result gets it.
func TestRealGuest_OwnerEnds_ItsTasksAtTheOtherNodeGoOn(t *testing.T) {
	x := startPlaced(t)
	path := x.file()
	pid, refs := x.starts("wait", 25, 0, path) // ten of them at a time
	x.ends(pid)
	x.eventually("as many run as have room", func() bool { return runsIn(path+".begun") == 10 })
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		x.expect(ref, "went on", "")
	}
	if n := runsIn(path + ".begun"); n != len(refs) {
		t.Errorf("%d tasks ran %d times", len(refs), n)
	}
	x.nothingStays(refs)
}

// Workers of the other node die while the owner of their tasks hands over, and afterwards: runs are counted as if it had stayed.
func TestRealGuest_OwnerEndsWhileWorkersDie_RunsAreCounted(t *testing.T) {
	for _, late := range []time.Duration{0, 5 * time.Millisecond} {
		for _, retries := range []int{0, 2} {
			t.Run(fmt.Sprintf("late by %v, %d retries", late, retries), func(t *testing.T) {
				x := startPlacedOver(t, &play.Network{Late: late})
				for round := range 4 {
					path := filepath.Join(t.TempDir(), fmt.Sprint(round, "-"))
					pid, refs := x.starts("counts", 60, retries, path)
					for i, ref := range refs {
						file, want, most := path+fmt.Sprint(i), fault.Code(""), 1
						if i%10 == 3 {
							file, want, most = file+"dies", fault.WorkerCrashed, retries+1
						}
						_, code := outcome(t, x.Client, ref)
						if runs := runsIn(file); code != want || runs != most {
							t.Errorf("round %d: %s: %q after %d runs, want %q after %d", round, filepath.Base(file), code, runs, want, most)
						}
					}
					x.ends(pid)
					x.nothingStays(refs)
				}
			})
		}
	}
}

// The other node dies when the owner of tasks there has handed over: its successor counts what had begun, as the owner would.
func TestRealGuest_NodeIsLostAfterTheOwner_TasksFail(t *testing.T) {
	x := startPlaced(t)
	path := x.file()
	pid, refs := x.starts("wait", 3, 0, path)
	x.ends(pid)
	x.eventually("they run", func() bool { return runsIn(path+".begun") == 3 })
	x.members[1].End()
	for _, ref := range refs {
		code, words, _ := faultIn(t, x.Client, ref)
		if code != fault.NodeDied || !strings.Contains(words, "is lost with its node") {
			t.Errorf("%s, %s", code, words)
		}
	}
}
