package daemon_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// leasedAfar are two nodes with different addresses, a driver of node A and a worker of node B that it has leased.
func leasedAfar(t *testing.T) (b *play.Session, d, g *play.Driver, h *play.Held) {
	t.Helper()
	var n play.Network
	a := n.Join(t, nodeA, 1)
	b = n.JoinWith(t, nodeB, 1, func(o *daemon.Options) { o.Address = "192.0.2.8" })
	d = a.Driver(nil)
	b.D.JobRuns(ids.Job(d.Job.JobID), nodeA)
	g = visits(d, nil)
	return b, d, g, g.Leased(1)
}

func TestOutput_OfAWorkerElsewhere_ReachesTheDriver(t *testing.T) {
	_, d, _, h := leasedAfar(t)
	h.Tell("print \x1f" + `:name:f\nhello\n`)
	h.Tell(`eprint trouble\n`)
	want := wire.LogLine{Pid: h.Pid, Name: "f", Text: "hello", Node: "192.0.2.8"}
	if l := d.Line("hello"); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if l := d.Line("trouble"); !l.Stderr || l.Node != "192.0.2.8" {
		t.Errorf("got %+v", l)
	}
}

func TestOutput_JobEnd_AnswersAfterTheLastLineOfOtherNodes(t *testing.T) {
	b, d, _, h := leasedAfar(t)
	for i := range 2000 {
		h.Tell(fmt.Sprintf(`print line %d\n`, i))
	}
	h.Tell("print last words without an end")
	d.Call(wire.TJobEnd, nil, nil)
	logs := d.Logs()
	if n := len(logs); n != 2001 || logs[n-1].Text != "last words without an end" {
		t.Errorf("%d lines when the answer came", n)
	}
	play.Eventually(t, "nothing is left", func() bool {
		n := counts(t, b)
		return n["n_jobs"] == 0 && n["n_log_senders"] == 0 && !play.Running(h.Pid)
	})
}

// The driver's process gives the node up, and the last worker of its job dies there. If the scheduler saw the worker die before the
// process left, it would start a spare worker, which keeps the job on the node for as long as it may be idle.
func TestOutput_LastWorkerElsewhereDies_ItsLastWordsCome(t *testing.T) {
	b, d, g, h := leasedAfar(t)
	h.Tell(`eprint its last words\n`)
	_ = unix.Kill(h.Pid, unix.SIGSTOP) // it does not end when it is asked to
	g.Peer.Close()
	play.Eventually(t, "the process has left", func() bool { return counts(t, b)["n_owners"] <= 1 })
	_ = unix.Kill(h.Pid, unix.SIGKILL)
	d.Line("its last words")
	play.Eventually(t, "nothing is left", func() bool {
		n := counts(t, b)
		return n["n_jobs"] == 0 && n["n_log_senders"] == 0
	})
}
