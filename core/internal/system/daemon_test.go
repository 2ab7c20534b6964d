package system

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestDaemon_ParentGone_DetachedChildrenToo(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	child, err := strconv.Atoi(a.Tell("child setsid"))
	if err != nil {
		t.Fatal(err)
	}
	s.end()
	if play.Running(child) {
		t.Error("a child in a session of its own survived")
	}
}

func TestDaemon_Killed_WorkersAndZygotesEnd(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	d.Lease()
	_ = s.cmd.Process.Kill()
	<-s.exited
	play.Eventually(t, "no process is left", func() bool { return len(s.processes()) == 0 })
	os.RemoveAll(s.dir) // nobody else can
}

func TestActor_Burst_AllComeUp(t *testing.T) {
	n := 200
	if raceEnabled {
		n = 40
	}
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(map[string]string{"GOMAXPROCS": "1"})
	began := time.Now()
	var all []ids.Actor
	for range n {
		id, _, err := d.Actor("", nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	for _, id := range all {
		if st := d.Resolve(id, 0); st.State != wire.ActorAlive {
			t.Fatalf("%+v", st)
		}
	}
	t.Logf("%d actors in %v", n, time.Since(began))
	began = time.Now()
	s.end()
	t.Logf("ended in %v", time.Since(began))
}
