package daemon

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A successor has its predecessor's place: id, socket, classes, leases, objects. What
// the worker holds is free when its process is gone, not sooner, and then
// nothing of the successor's goes with it.
func TestSuccessor_TakesItsPlace_AndTheWorkersHoldStays(t *testing.T) {
	d, j := opened(t)
	w := ordered(d, j)
	old, successor := connected(t, wire.RoleWorker), connected(t, wire.RoleSuccessor)
	old.worker, old.self, old.job = w, w.self, j
	successor.self, successor.job, successor.predecessor = ids.NewWorkerOn(1), j, old
	d.mu.Lock()
	d.table.SetReady(w.Worker)
	w.client = old
	d.mu.Unlock()
	for _, c := range []*client{old, successor} {
		c.worker = nil // its process is not under test here
		if !d.enlist(c) {
			t.Fatal("the daemon is closing")
		}
	}
	old.worker = w
	owner, id := old.self.Owner(), old.id
	d.mu.Lock()
	object := ids.NewObject(1, owner, j.ID, 0)
	var err error
	old.creates = true
	d.objects.Create(old, object, 100, func(_ objects.Place, e error) { err = e })
	if err != nil {
		t.Fatal(err)
	}
	if err := d.objects.Seal(old, object); err != nil {
		t.Fatal(err)
	}
	d.mu.Unlock()

	got, err := d.takeOver(successor)
	if err != nil {
		t.Fatal(err)
	}
	if got.Socket != d.socketOf(owner) || ids.Owner(got.WorkerID[:ids.OwnerSize]) != owner {
		t.Errorf("the successor is told %+v", got)
	}
	if _, err := d.takeOver(successor); err == nil {
		t.Error("it takes over twice")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners[owner] != successor || d.clients[id] != successor || successor.id != id || w.self.Owner() == owner {
		t.Error("the successor is not in the worker's place")
	}
	if !successor.creates || old.creates {
		t.Error("the head is to hear of the end of the worker, and not of its successor's, which has its actors")
	}
	d.forget(w) // the process is gone
	if !d.objects.Has(object) || d.owners[owner] != successor || len(d.clients) != 1 {
		t.Error("what was taken over went with the worker")
	}
	d.dropClient(successor)
	if d.objects.Has(object) || d.objects.UsedBytes() != 0 {
		t.Error("what was taken over outlives the successor")
	}
}

// Nobody but the worker itself hands over what it owns, and nobody without the token takes over.
func TestSuccessor_Strangers_AreRefused(t *testing.T) {
	d, j := opened(t)
	if _, err := d.predecessorOf("guess"); err == nil {
		t.Error("a stranger takes over")
	}
	c := connected(t, wire.RoleWorker)
	c.job = j
	d.handovers["token"] = c
	if got, err := d.predecessorOf("token"); err != nil || got != c {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := d.predecessorOf("token"); err == nil {
		t.Error("the token serves twice")
	}
}

// A worker that wants a successor when its job has ended is told that, whether its
// place was still its own, or a successor that ended with the job had taken it.
func TestSuccessor_JobHasEnded_WorkerIsToldThat(t *testing.T) {
	d, j := opened(t)
	d.o.Succeed = func(*net.UnixConn, string) error { t.Error("a successor was made"); return nil }
	c := connected(t, wire.RoleWorker)
	c.worker, c.self, c.job, c.pid = &worker{}, ids.NewWorkerOn(1), j, os.Getpid()
	d.mu.Lock()
	j.ended = true
	d.clients[1], d.owners[c.self.Owner()] = c, c
	d.mu.Unlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	f := os.NewFile(uintptr(pair[0]), "")
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	owner, stranger := c.self.Owner(), ids.NewWorkerOn(1).Owner()
	for _, who := range []ids.Owner{owner, stranger} {
		err := d.handOver(conn.(*net.UnixConn), &wire.Hello{Role: wire.RoleHandover, OwnerID: who[:], Pid: os.Getpid()})
		if fault.CodeOf(err) != fault.Closed {
			t.Errorf("got %v", err)
		}
	}
	d.mu.Lock()
	j.ended = false
	delete(d.clients, 1)
	delete(d.owners, owner)
	d.mu.Unlock()
	err = d.handOver(conn.(*net.UnixConn), &wire.Hello{Role: wire.RoleHandover, OwnerID: owner[:], Pid: os.Getpid()})
	if fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a stranger: got %v", err)
	}
}
