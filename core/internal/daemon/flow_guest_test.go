package daemon_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The numbers of the two nodes.
const (
	nodeA = 7
	nodeB = 8
)

// twoNodes are two daemons that a played network joins.
func twoNodes(t *testing.T, cpusOfB int64) (a, b *play.Session) {
	t.Helper()
	var n play.Network
	return n.Join(t, nodeA, 1), n.Join(t, nodeB, cpusOfB)
}

// visits makes a driver of node A a guest of node B that has told its environment.
func visits(d *play.Driver, env map[string]string) *play.Driver {
	g := d.GuestAt(nodeB)
	g.Push(wire.TEnvDefine, d.Environment("default", env))
	return g
}

// free waits until so many CPUs of a node are free.
func free(t *testing.T, s *play.Session, cpus int64) {
	t.Helper()
	tool := s.Tool()
	play.Eventually(t, fmt.Sprintf("%d CPUs are free", cpus), func() bool { return tool.Info().Available["CPU"] == cpus*10000 })
}

func TestGuest_LeasesAWorkerOfAnotherNode_AndCallsIt(t *testing.T) {
	a, b := twoNodes(t, 2)
	d := a.Driver(nil)
	g := visits(d, map[string]string{"COLOUR": "green"})
	node := b.Tool().Info().Nodes[0]
	if g.Hello.Version != wire.Version || ids.Node(g.Hello.NodeID) != ids.Node(node.NodeID) || g.Hello.NodeAddr != "192.0.2.1" || g.Hello.Totals.Resources["CPU"] != 20000 || g.Hello.ArenaBytes != 0 {
		t.Errorf("a guest is told %+v", g.Hello)
	}
	h := g.Leased(1)
	worker := ids.Worker(h.WorkerID).Owner()
	if h.LeaseID>>32 != nodeB || worker.Node() != nodeB || h.Addr != wire.AddressOf(worker) {
		t.Errorf("lease %x of worker %s at %s", h.LeaseID, worker, h.Addr)
	}
	if got := h.Tell("env COLOUR"); got != "green" {
		t.Errorf("the worker's variable is %q", got)
	}
	free(t, b, 1)
	free(t, a, 1)
	g.Want(1, 0)
	h.GiveBack()
	free(t, b, 2)
	g.Want(1, 1)
	if again := g.Lease(); again.Pid != h.Pid || again.LeaseID == h.LeaseID {
		t.Errorf("lease %x of pid %d after lease %x of pid %d", again.LeaseID, again.Pid, h.LeaseID, h.Pid)
	}
	var why string
	g.Class(2, map[string]float64{"CPU": 2}, "default")
	g.Want(2, 1)
	play.Eventually(t, "it is said what a guest waits for", func() bool {
		g.Call(wire.TWhoHolds, wire.ClassTrouble{ClassID: 2}, &why)
		return strings.Contains(why, "CPU")
	})
}

// A guest's lease is recalled, and how its worker ends is told, as on one node.
func TestGuest_LeaseIsRecalledAndBroken(t *testing.T) {
	a, b := twoNodes(t, 2)
	first, second := visits(a.Driver(nil), nil), visits(a.Driver(nil), nil)
	first.Class(1, play.OneCPU, "default")
	first.Want(1, 2)
	h, other := first.Lease(), first.Lease()
	second.Class(1, play.OneCPU, "default")
	second.Want(1, 1)
	var wanted wire.LeaseRef
	first.Expect(wire.TLeaseRecall, &wanted)
	if wanted.LeaseID != h.LeaseID && wanted.LeaseID != other.LeaseID {
		t.Fatalf("lease %x is recalled", wanted.LeaseID)
	}
	first.Want(1, 0)
	if wanted.LeaseID == h.LeaseID {
		h, other = other, h
	}
	other.GiveBack()
	if got := second.Lease(); got.Tell("pid") == other.Tell("pid") {
		t.Error("a job gets another job's worker")
	}
	h.Tell(`eprint its last words\n`)
	_ = unix.Kill(h.Pid, unix.SIGKILL)
	var x wire.LeaseBroken
	first.Expect(wire.TLeaseBroken, &x)
	if x.LeaseID != h.LeaseID || !strings.HasPrefix(x.Detail, fmt.Sprintf("worker pid %d was killed by signal 9 (SIGKILL)", h.Pid)) || !strings.Contains(x.Detail, "its last words") {
		t.Errorf("got %+v", x)
	}
	if got := h.Tell("pid"); got != "" {
		t.Errorf("a dead worker answers %q", got)
	}
	free(t, b, 1)
}

// When a guest's worker has ended, its daemon says which task it began last.
func TestGuest_WorkerEnds_WhatItHadBegunIsSaid(t *testing.T) {
	a, b := twoNodes(t, 1)
	g := visits(a.Driver(nil), nil)
	g.Class(1, play.OneCPU, "default")
	broken := func() (x wire.LeaseBroken) {
		g.Expect(wire.TLeaseBroken, &x)
		return x
	}
	var last *play.Held
	lease := func() *play.Held {
		g.Want(1, 1)
		last = g.Lease()
		return last
	}
	begins := func(h *play.Held, task string) {
		if h.Tell("begins "+task) != "ok" {
			t.Errorf("the worker of lease %x does not answer", h.LeaseID)
		}
	}
	for name, x := range map[string]struct {
		end  func()
		want uint32
	}{
		"it had begun some":  {func() { h := lease(); begins(h, "4"); begins(h, "5"); _ = unix.Kill(h.Pid, unix.SIGKILL) }, 5},
		"nobody had called":  {func() { _ = unix.Kill(lease().Pid, unix.SIGKILL) }, 0},
		"it was called only": {func() { h := lease(); h.Tell("pid"); _ = unix.Kill(h.Pid, unix.SIGKILL) }, 0},
		"in a lease before": {func() {
			h := lease()
			begins(h, "9")
			h.GiveBack()
			if again := lease(); again.Pid != h.Pid {
				t.Error("the worker does not serve again")
			}
			_ = unix.Kill(last.Pid, unix.SIGKILL)
		}, 0},
		"the guest gives it up": {func() {
			h := lease()
			begins(h, "6")
			g.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: h.LeaseID, Unusable: true})
		}, 6},
		"a child keeps its socket": {func() { h := lease(); begins(h, "7"); h.Tell("child"); _ = unix.Kill(h.Pid, unix.SIGKILL) }, 7},
	} {
		x.end()
		if got := broken(); got.LeaseID != last.LeaseID || got.Begun != x.want || !got.Known {
			t.Errorf("%s: lease %x, got %+v, want task %d", name, last.LeaseID, got, x.want)
		}
	}
	if n := counts(t, b)["n_begun"]; n != 0 {
		t.Errorf("the page has words of %d leases", n)
	}
	lease()
	if n := counts(t, b)["n_begun"]; n != 1 {
		t.Errorf("the page has words of %d leases", n)
	}
	g.Peer.Close()
	free(t, b, 1)
	if n := counts(t, b)["n_begun"]; n != 0 {
		t.Errorf("when the guest has left there are words of %d leases", n)
	}
	own := b.Driver(nil) // who has a page of its own
	h := own.Leased(1)
	_ = unix.Kill(h.Pid, unix.SIGKILL)
	var x wire.LeaseBroken
	if own.Expect(wire.TLeaseBroken, &x); x.Known {
		t.Errorf("a process of the node is told %+v", x)
	}
}

// When a guest leaves, its leases come back. What it owns stays while it lives, and goes with it.
func TestGuest_Leaves_LeasesGoAndItsObjectsWithIt(t *testing.T) {
	for name, leave := range map[string]func(d, g *play.Driver){
		"it closes the connection": func(_, g *play.Driver) { g.Peer.Close() },
		"it dies":                  func(d, g *play.Driver) { d.Peer.Close(); g.Peer.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoNodes(t, 2)
			d := a.Driver(nil)
			g := visits(d, nil)
			h := g.Leased(1)
			id := ids.NewObject(1, d.Owner(), ids.Job(d.Job.JobID), 1)
			if got := h.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 1000}); got != "<nil>" {
				t.Fatalf("the worker may not write a result for the guest: %s", got)
			}
			h.Says("push", wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
			h.Says("call", wire.TObjStats, nil) // then the daemon has heard that it is sealed
			tool := b.Tool()
			var st wire.ObjStats
			objects := func() int {
				tool.Call(wire.TObjStats, nil, &st)
				return st.Objects
			}
			play.Eventually(t, "the result is there", func() bool { return objects() == 1 })
			leave(d, g)
			play.Eventually(t, "the lease is free", func() bool { return tool.Info().Available["CPU"] == 20000 })
			if name == "it dies" {
				play.Eventually(t, "what it owned is freed", func() bool { return objects() == 0 })
			} else if objects() != 1 {
				t.Error("what the guest owns went with its connection")
			}
		})
	}
}

// counts are the numbers of entries in a daemon's tables.
func counts(t *testing.T, s *play.Session) map[string]uint64 {
	t.Helper()
	var n map[string]uint64
	s.Tool().Call(wire.TFootprint, wire.FootprintAsk{}, &n)
	return n
}

// The row of a visiting job goes with the last guest and the last worker, or when the job ends.
func TestGuest_JobIsOver_NothingOfItStays(t *testing.T) {
	a, b := twoNodes(t, 2)
	d := a.Driver(nil)
	g := visits(d, nil)
	h := g.Leased(1)
	g.Peer.Close()
	play.Eventually(t, "the guest has left", func() bool { return counts(t, b)["n_owners"] <= 1 })
	if play.Running(h.Pid) { // nobody needs it any more, so it may have ended
		_ = unix.Kill(h.Pid, unix.SIGKILL)
	}
	play.Eventually(t, "the job is forgotten with its last worker", func() bool { return counts(t, b)["n_jobs"] == 0 })
	g = visits(d, nil)
	h = g.Leased(1)
	b.D.JobEnded(ids.Job(d.Job.JobID))
	play.Eventually(t, "the worker of a job that has ended ends", func() bool { return !play.Running(h.Pid) })
	play.Eventually(t, "the job is forgotten when it has ended", func() bool { n := counts(t, b); return n["n_jobs"] == 0 && n["n_owners"] == 0 })
	select {
	case <-g.Peer.Done():
	case <-time.After(play.Limit):
		t.Error("the guest of a job that has ended is still connected")
	}
	own := b.Driver(nil)
	b.D.JobEnded(ids.Job(own.Job.JobID)) // its driver is here, and says itself when it ends
	if own.Leased(1).Pid == 0 {
		t.Error("a job of this node has ended")
	}
}

// A process is one guest of a node at most. The later connection counts.
func TestGuest_ConnectsAgain_TheEarlierConnectionGoes(t *testing.T) {
	a, b := twoNodes(t, 1)
	d := a.Driver(nil)
	first := visits(d, nil)
	h := first.Leased(1)
	second := visits(d, nil)
	select {
	case <-first.Peer.Done():
	case <-time.After(play.Limit):
		t.Fatal("the earlier connection is still there")
	}
	if got := second.Leased(1); got.LeaseID == h.LeaseID {
		t.Error("the lease of the earlier connection was not given back")
	}
	if n := counts(t, b); n["n_jobs"] != 1 {
		t.Errorf("the tables have %v", n)
	}
}

// A guest asks for leases. All else it asks its own daemon.
func TestGuest_AsksForOtherThings_IsRefused(t *testing.T) {
	a, b := twoNodes(t, 1)
	d := a.Driver(nil)
	g := visits(d, nil)
	id := ids.NewObject(1, d.Owner(), ids.Job(d.Job.JobID), 0)
	for _, m := range []struct {
		t    wire.Type
		body any
	}{
		{wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 10}}, {wire.TObjPin, wire.ObjPin{ObjectID: id[:]}}, {wire.TJobStart, wire.JobStart{}}, {wire.TJobEnd, nil},
		{wire.TShutdown, nil}, {wire.TKVGet, wire.KVKey{}}, {wire.TClusterInfo, nil}, {wire.TCensus, wire.CensusAsk{}},
	} {
		play.WantCode(t, g.Try(m.t, m.body, nil), fault.BadRequest, "came from a process of node 7, and may be sent to that process's own daemon only")
	}
	owner := d.Owner()
	for what, x := range map[string]struct {
		node uint32
		h    wire.Hello
		want string
	}{
		"no job":     {nodeB, wire.Hello{Version: wire.Version, Role: wire.RoleGuest, OwnerID: owner[:]}, "names no job"},
		"other node": {9, wire.Hello{Version: wire.Version, Role: wire.RoleGuest, OwnerID: owner[:], JobID: d.Job.JobID}, "open a stream to node 9: node 9 is not there"},
		"own node":   {nodeA, wire.Hello{Version: wire.Version, Role: wire.RoleGuest, OwnerID: owner[:], JobID: d.Job.JobID}, "that process is on this node"},
	} {
		if err := d.RefusedAt(x.node, x.h); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want %q", what, err, x.want)
		}
	}
	var x wire.Census
	b.Tool().Call(wire.TCensus, wire.CensusAsk{Objects: true, Limit: 10}, &x)
	if p := x.Parts[0]; len(p.Processes)+len(p.Silent) != 0 {
		t.Errorf("a census of node B asks %+v, %+v", p.Processes, p.Silent)
	}
}

// listenAs plays a process of a session that others connect to.
func listenAs(t *testing.T, d *play.Driver) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.Hello.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_ = l.SetDeadline(time.Now().Add(play.Limit))
	return l
}

// Control connections go through pipes like task sockets, and end with either process.
func TestPipe_ControlConnection_CarriesQuestionsBothWays(t *testing.T) {
	a, b := twoNodes(t, 1)
	d, x := a.Driver(nil), b.Driver(nil)
	l := listenAs(t, x)
	peer, err := d.Dialer().DialControl(wire.AddressOf(x.Owner()), d.Says(wire.RoleControl, 0), func(m *wire.Message) { _ = m.Reply("from A") }, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	peer.Start()
	t.Cleanup(peer.Close)
	u, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.ReadHello(u)
	if err != nil || h.Role != wire.RoleControl || ids.Owner(h.OwnerID) != d.Owner() || h.Addr != wire.AddressOf(d.Owner()) {
		t.Fatalf("%+v, %v", h, err)
	}
	back := wire.NewPeer(u, func(m *wire.Message) { _ = m.Reply("from B") }, func(error) {})
	back.Start()
	t.Cleanup(back.Close)
	for want, p := range map[string]*wire.Peer{"from B": peer, "from A": back} {
		var got string
		if err := p.Call(t.Context(), wire.TRefWait, nil, &got); err != nil || got != want {
			t.Errorf("the answer is %q, %v, want %q", got, err, want)
		}
	}
	peer.Close()
	select {
	case <-back.Done():
	case <-time.After(play.Limit):
		t.Error("the other end is still open")
	}
	play.Eventually(t, "no pipe is left", func() bool { return counts(t, a)["n_pipes"]+counts(t, b)["n_pipes"] == 0 })
}

// A worker that is stopped holds up its own pipe only.
func TestPipe_OneOfTenWorkersIsStopped_TheOthersGoOn(t *testing.T) {
	a, _ := twoNodes(t, 10)
	g := visits(a.Driver(nil), nil)
	g.Class(1, play.OneCPU, "default")
	g.Want(1, 10)
	var all []*play.Held
	for range 10 {
		h := g.Lease()
		if h.Tell("pid") != fmt.Sprint(h.Pid) {
			t.Fatal("a worker has another pid")
		}
		all = append(all, h)
	}
	if err := unix.Kill(all[0].Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	fill := all[0].Fill(200*time.Millisecond, 64<<20)
	for _, h := range all[1:] {
		for range 3 {
			if h.Tell("pid") != fmt.Sprint(h.Pid) {
				t.Error("a worker beside a stopped one does not answer")
			}
		}
	}
	if fill == 0 || fill >= 64<<20 {
		t.Errorf("%d bytes went to a stopped worker", fill)
	}
	_ = unix.Kill(all[0].Pid, unix.SIGCONT)
	if got := all[0].Tell("pid"); got != "ok" { // what it was filled with is a line of its own
		t.Errorf("the worker goes on with %.20q", got)
	}
}

// A process that its daemon knows to be gone ends its pipes, although something keeps its sockets open.
func TestPipe_CallerIsGone_EndsAlthoughItsSocketIsOpen(t *testing.T) {
	a, b := twoNodes(t, 1)
	d := a.Driver(nil)
	h := visits(d, nil).Leased(1)
	if h.Tell("pid") != fmt.Sprint(h.Pid) { // its connection stays open until the test ends
		t.Fatal("the worker has another pid")
	}
	if n := counts(t, a)["n_pipes"]; n != 2 { // to the daemon and to the worker
		t.Errorf("%d pipes begin at node A", n)
	}
	d.Peer.Close()
	play.Eventually(t, "the pipes have ended", func() bool { return counts(t, a)["n_pipes"]+counts(t, b)["n_pipes"] == 0 })
}

// A daemon does not know whether an owner on another node lives.
func TestPin_OwnerIsOnAnotherNode_IsNotSaidToBeDead(t *testing.T) {
	_, b := twoNodes(t, 1)
	d := b.Driver(nil)
	for node, want := range map[uint32]fault.Code{nodeA: fault.ObjectLost, nodeB: fault.OwnerDied} {
		id := ids.NewObject(1, ids.NewWorkerOn(node).Owner(), ids.Job(d.Job.JobID), 1)
		if err := d.Try(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, nil); fault.CodeOf(err) != want {
			t.Errorf("an object of node %d: %v, want %s", node, err, want)
		}
	}
}
