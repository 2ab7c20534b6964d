package client

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The numbers of the nodes.
const (
	realNode  = 3
	otherReal = 4
)

// abroad is a driver of a real daemon whose CPU is taken, beside another real daemon that has room. Both lend
// processes with clients.
type abroad struct {
	*real
	other *play.Session
	hog   *play.Held // has the CPU of the driver's node
}

// startAbroad offers the driver the leases of the other node that it asks its own daemon for. What goes from node to
// node is late by up to that much.
func startAbroad(t *testing.T, cpus int64, late time.Duration) *abroad {
	t.Helper()
	n := play.Network{Late: late}
	here := n.Join(t, realNode, 1)
	x := &abroad{other: n.Join(t, otherReal, cpus), hog: here.Driver(nil).Leased(1)}
	x.real = joinReal(t, here)
	over, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); <-ended })
	go func() {
		defer close(ended)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-over:
				return
			case <-tick.C:
				x.offer()
			}
		}
	}()
	return x
}

// offer does what a daemon does that has no room: it offers leases of the other node for what is wanted.
func (x *abroad) offer() {
	for class, n := range x.wanted() {
		if err := x.offered(&wire.LeaseOffer{ClassID: class, Node: otherReal, N: n, Ticket: 1, Env: &x.opts.Job.Env}); err != nil {
			x.t.Error(err)
		}
	}
}

// wanted returns how many leases of each class the own daemon is asked for.
func (x *abroad) wanted() map[uint32]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := map[uint32]int{}
	for id, k := range x.Client.submit.Classes {
		if k.Want > 0 {
			all[id] = k.Want
		}
	}
	return all
}

// there returns how many entries a table of the other node's daemon has.
func (x *abroad) there(table string) uint64 {
	x.t.Helper()
	var n map[string]uint64
	x.other.Tool().Call(wire.TFootprint, wire.FootprintAsk{}, &n)
	return n[table]
}

// The driver wants a lease, becomes a guest, is granted a lease, and its task goes to the worker and comes back.
func TestRealGuest_TaskRunsAtTheOtherNode(t *testing.T) {
	x := startAbroad(t, 2, 0)
	if workers, before := x.there("n_workers"), fmt.Sprint(x.hog.Pid); workers != 0 {
		t.Errorf("the other node has %d workers already", workers)
	} else if pid, code := outcome(t, x.Client, x.submit("pid", 0, "")); code != "" || pid == before || x.there("n_workers") == 0 {
		t.Errorf("worker %q ran it, %s, and the other node has %d workers", pid, code, x.there("n_workers"))
	}
	if n := x.Footprint(false)["n_guests"]; n != 1 {
		t.Errorf("the driver is a guest of %d nodes", n)
	}
	var refs []ids.Object
	for i := range 50 {
		refs = append(refs, x.submit("echo", 0, fmt.Sprint(i)))
	}
	for i, ref := range refs {
		x.expect(ref, fmt.Sprint(i), "")
	}
	x.expect(x.submit("echo", 0, "and ", refs[7]), "and 7", "")
	x.eventually("leases that have nothing to do go back", func() bool {
		return x.other.Tool().Info().Available["CPU"] == 20000 && x.there("n_begun") == 0
	})
	if n := x.there("n_owners"); n == 0 {
		t.Error("the driver is a guest no more")
	}
	x.Close(0)
	x.eventually("nothing of the driver stays", func() bool {
		return x.there("n_pipes") == 0 && x.there("n_owners") == x.there("n_workers") && x.there("n_begun") == 0
	})
}

// Workers of the other node have the variables of the job.
func TestRealGuest_EnvironmentIsTheJobs(t *testing.T) {
	n := new(play.Network)
	here := n.Join(t, realNode, 1)
	x := &abroad{other: n.Join(t, otherReal, 1), hog: here.Driver(nil).Leased(1)}
	x.real = joinRealWith(t, here, map[string]string{"COLOUR": "green"})
	colour := x.submit("colour", 0, "")
	x.eventually("the daemon is asked for a lease", func() bool { return len(x.wanted()) == 1 })
	x.offer()
	x.expect(colour, "green", "")
}

// A worker that dies there costs its task a run, as here, and the failure names its node.
func TestRealGuest_WorkerDies_TaskIsTriedAgainAsOftenAsItMay(t *testing.T) {
	x := startAbroad(t, 1, 0)
	path := x.file()
	fails := x.submit("crash", 1, path)
	code, words, _ := faultIn(t, x.Client, fails)
	if node := ids.Node(x.other.Tool().Info().Nodes[0].NodeID); code != fault.WorkerCrashed || !strings.Contains(words, "on node "+node.String()) || !strings.Contains(words, "SIGKILL") {
		t.Errorf("%s, %s", code, words)
	}
	if n := runsIn(path); n != 2 {
		t.Errorf("a task with one retry ran %d times", n)
	}
	path = x.file()
	x.expect(x.submit("crash twice", 5, path), path, "")
	if n := runsIn(path); n != 3 {
		t.Errorf("it ran %d times, want 3", n)
	}
}

// A task is cancelled through a pipe of its own to the worker there.
func TestRealGuest_Cancel(t *testing.T) {
	x := startAbroad(t, 1, 0)
	path := x.file()
	runs := x.submit("wait", 3, path)
	x.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	if err := x.Cancel(runs, false, true); err != nil {
		t.Fatal(err)
	}
	x.expect(runs, "", fault.TaskCancelled)
	if n := runsIn(path + ".cancelled"); n != 1 {
		t.Errorf("the task has heard %d cancellations", n)
	}
}

// When the other node is lost, what it had begun counts as a run, and the rest of the work goes on at the own node.
func TestRealGuest_NodeIsLost_TasksRunAtTheOwnNode(t *testing.T) {
	x := startAbroad(t, 1, 0)
	path := x.file()
	once := x.submit("wait", 0, path)
	x.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	x.other.End()
	code, words, _ := faultIn(t, x.Client, once)
	if code != fault.NodeDied || !strings.Contains(words, "is lost with its node") {
		t.Errorf("%s, %s", code, words)
	}
	x.hog.GiveBack()
	x.expect(x.submit("echo", 0, "at home"), "at home", "")
}

// A worker that dies takes tasks along that it had not begun, and its last answers are on their way. Only the task that
// ends it has used a run: so it is on one node, and so it is when the workers are on another one, whose word and whose
// last answers come in any order.
func TestRealGuest_WorkersDieAmongManyTasks_RunsAreCountedAsOnOneNode(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *real{
		"on one node":               func(t *testing.T) *real { return startReal(t, 2) },
		"on another node":           func(t *testing.T) *real { return startAbroad(t, 2, 0).real },
		"on another node, far away": func(t *testing.T) *real { return startAbroad(t, 2, 5*time.Millisecond).real },
	} {
		for _, retries := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d retries", name, retries), func(t *testing.T) {
				r := start(t)
				dir := t.TempDir()
				type task struct {
					path string
					ref  ids.Object
				}
				var all []task
				tm := r.template("counts", retries, nil)
				for i := range 300 {
					path := filepath.Join(dir, fmt.Sprint(i))
					if i%30 == 17 {
						path += "dies"
					}
					all = append(all, task{path, submitText(t, r.Client, tm, path)})
				}
				for _, x := range all {
					_, code := outcome(t, r.Client, x.ref)
					runs, want := runsIn(x.path), fault.Code("")
					if strings.HasSuffix(x.path, "dies") {
						want = fault.WorkerCrashed
					}
					if code != want || runs != 1 && want == "" || want != "" && runs != retries+1 {
						t.Errorf("%s: %q after %d runs, with %d retries", filepath.Base(x.path), code, runs, retries)
					}
				}
			})
		}
	}
}
