package client

import (
	"io"
	"net"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestNobodyNeeds_OnlyWhenTheSessionHasEnded(t *testing.T) {
	for _, x := range []struct {
		err  error
		want bool
	}{
		{fault.New(fault.Closed, "the job has ended"), true},
		{fault.New(fault.Internal, "no room for a successor"), false},
		{&net.OpError{Err: unix.ECONNREFUSED}, true},
		{&net.OpError{Err: unix.ENOENT}, true},
		{&net.OpError{Err: unix.EPIPE}, false},
		{io.EOF, false},
		{nil, false},
	} {
		if got := nobodyNeeds(x.err); got != x.want {
			t.Errorf("%v: %v", x.err, got)
		}
	}
}

// A worker stays when no successor can be started now. It may end when nobody needs a successor any more.
func TestMove_NoSuccessor_TheWorkerStaysOrIsOver(t *testing.T) {
	for what, x := range map[string]struct {
		answer func(u *net.UnixConn)
		over   bool
	}{
		"the successor does not begin": {func(u *net.UnixConn) { _ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1) }, false},
		"the daemon refuses":           {func(u *net.UnixConn) { wire.RefuseHello(u, fault.New(fault.Internal, "no successor")) }, false},
		"the job has ended":            {func(u *net.UnixConn) { wire.RefuseHello(u, fault.New(fault.Closed, "the job has ended")) }, true},
	} {
		d := startDaemon(t)
		d.mu.Lock()
		d.takesOver = func(u *net.UnixConn, _ []byte) {
			x.answer(u)
			u.Close()
		}
		d.mu.Unlock()
		owner := d.member(t, wire.RoleWorker)
		owner.put(t, "x")
		owner.c.mu.Lock()
		if err := owner.c.move(); (err == nil) != x.over {
			t.Errorf("%s: the worker is told %v", what, err)
		}
		if owned, _ := owner.c.table.Len(); owned != 1 || owner.c.Closed() {
			t.Errorf("%s: the worker owns %d objects, closed %v", what, owned, owner.c.Closed())
		}
		owner.c.mu.Unlock()
		owner.c.Close(0)
	}
}

// What keeps a worker that wants to end: tasks without an answer, constructors that need its objects, what it
// holds for others, and callers that have not confirmed their answers.
func TestNeeded_ForWhatOthersWouldLose(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer func() {
		c.submit.Open = 0
		clear(c.submit.Actors)
		c.mu.Unlock()
	}()
	needed := func(what string, want bool) {
		t.Helper()
		if got := c.needed(); got != want {
			t.Errorf("%s: needed %v", what, got)
		}
	}
	o := c.table.New(1, 1)
	theirs := c.table.Borrow(ids.NewObject(4, ids.Owner{9}, c.info.Job, 1), "its owner")
	_ = theirs
	needed("nothing", false)
	c.submit.Open = 1
	needed("a task has no answer", true)
	c.submit.Open = 0
	c.table.Ref(o)
	c.table.Retain("/nobody", []*refs.Object{o})
	needed("a worker has not registered what it keeps", true)
	c.table.WorkerRegistered(c.table.Retained()[0], true)
	needed("a worker has registered what it keeps", false)
	c.table.Pin(o)
	answer := c.table.HoldResult(refs.TaskSocket{Caller: ids.Owner{1}}, []*refs.Object{o})
	needed("a caller has not confirmed", true)
	c.table.Confirmed(ids.Owner{1}, answer)
	needed("a caller that has confirmed all", false)
	c.table.AddBorrower(o, ids.Owner{7})
	needed("an object is borrowed", true)
	c.table.DropBorrower(o, ids.Owner{7})
	needed("it is borrowed no more", false)

	token := c.table.New(0, 1)
	_ = c.submit.OpenActor(ids.Actor{1}, "A", 0)
	for _, x := range []struct {
		what         string
		constructor  *needs // nil: it has ended
		counted      bool   // the actor's handles are counted
		known, again bool   // the head knows the actor; the constructor may run again
		want         bool
	}{
		{"an actor whose constructor has ended", nil, true, true, false, false},
		{"a constructor with an argument", &needs{takes: true}, true, true, false, true},
		{"a constructor that was announced and needs nothing", &needs{}, true, true, false, false},
		{"a constructor that was not announced", &needs{}, true, false, false, true},
		{"a constructor that may run again, of a detached actor", &needs{takes: true}, false, false, true, true},
		{"a constructor that may run again, whose actor has handles here only", &needs{takes: true}, true, false, true, false},
	} {
		a := c.submit.OpenActor(ids.Actor{1}, "A", 0)
		var counts *refs.Object
		if x.counted {
			counts = token
		}
		if err := a.Restore(&snapshot.Actor{}, counts); err != nil {
			t.Fatal(err)
		}
		if x.constructor != nil {
			a.RestoreCreation(&snapshot.Creation{Announce: x.known, Again: x.again}, x.constructor)
		}
		needed(x.what, x.want)
	}
	c.table.AddBorrower(token, ids.Owner{7})
	if !c.submit.Creating() {
		t.Error("a constructor that may run again, of an actor with handles elsewhere, needs nothing")
	}
	c.table.DropBorrower(token, ids.Owner{7})
}

// A worker that moves asks for no more leases, gives those back that rest, and keeps those that work.
func TestPrepareMove_LeasesThatRestGoBack(t *testing.T) {
	d := startDaemon(t)
	wants := d.leaseWants()
	c := d.driver()
	_, goOn, busy, idle := twoLeases(t, d, c)
	other, err := c.NewTemplate(&Template{Kind: KindTask, Name: "h", FID: []byte("hhhhhhhhhhhhhhhh"), Returns: 1, Resources: map[string]int64{"GPU": 1}})
	if err != nil {
		t.Fatal(err)
	}
	submitText(t, c, other, "waits for a worker of another kind")
	kept, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.prepareMove()
	if len(c.submit.Leases) != 1 || c.submit.Leases[busy.ID] != busy || !busy.Recall {
		t.Errorf("%d leases are left; the one that works is wanted back: %v", len(c.submit.Leases), busy.Recall)
	}
	for _, k := range c.submit.Classes {
		if k.Want != 0 {
			t.Errorf("%d leases are still wanted", k.Want)
		}
	}
	if c.table.Find(kept) != nil {
		t.Error("what only the program held is kept")
	}
	c.mu.Unlock()
	d.eventually("it goes back", func() bool { return slices.Equal(d.returned, []uint64{idle.ID}) })
	if got := toldWants(t, c, wants); got[len(got)-1] != 0 {
		t.Errorf("the daemon is told to want %v", got)
	}
	goOn()
}
func unixConn(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// needs plays the call of a constructor that may take objects.
type needs struct {
	actors.Constructor
	takes bool
}

func (n *needs) Takes() bool { return n.takes }
