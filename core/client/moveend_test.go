package client

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

func TestNobodyNeeds_OnlyWhenTheSessionHasEnded(t *testing.T) {
	for _, x := range []struct {
		err  error
		want bool
	}{
		{fault.New(fault.Closed, "the job has ended"), true},
		{fault.New(fault.Internal, "no room for an heir"), false},
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

// No heir is found because there is none now, or because nobody needs one any more.
func TestMove_NoHeir_ItStaysOrIsOver(t *testing.T) {
	for what, x := range map[string]struct {
		answer func(u *net.UnixConn)
		over   bool
	}{
		"the heir does not begin": {func(u *net.UnixConn) { _ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1) }, false},
		"the daemon refuses":      {func(u *net.UnixConn) { wire.RefuseHello(u, fault.New(fault.Internal, "no heir")) }, false},
		"the job has ended":       {func(u *net.UnixConn) { wire.RefuseHello(u, fault.New(fault.Closed, "the job has ended")) }, true},
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
		if got := owner.c.move(); got != x.over {
			t.Errorf("%s: it is over: %v", what, got)
		}
		if owned, _ := owner.c.table.Len(); owned != 1 || owner.c.closed {
			t.Errorf("%s: the worker owns %d objects, closed %v", what, owned, owner.c.closed)
		}
		owner.c.mu.Unlock()
		owner.c.Close(0)
	}
}

// What keeps a worker that wants to end: tasks without an answer, constructors that need its objects, what it
// holds for others, and for a while callers that have not confirmed their answers.
func TestNeeded_ForWhatOthersWouldLose(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer func() {
		c.unfinished = 0
		clear(c.actors)
		c.mu.Unlock()
	}()
	began := time.Now()
	needed := func(what string, began time.Time, want bool) {
		t.Helper()
		if got := c.needed(began); got != want {
			t.Errorf("%s: needed %v", what, got)
		}
	}
	o := c.table.New(1, 1)
	theirs := c.table.Borrow(ids.NewObject(4, ids.Owner{9}, c.info.Job, 1), "its owner")
	_ = theirs
	needed("nothing", began, false)
	c.unfinished = 1
	needed("a task has no answer", began, true)
	c.unfinished = 0
	c.table.Ref(o)
	c.table.Retain("/nobody", []*refs.Object{o})
	needed("a worker has not registered what it keeps", began, true)
	c.table.WorkerRegistered(c.table.Retained()[0], true)
	needed("a worker has registered what it keeps", began, false)
	c.table.Pin(o)
	c.hold(ids.Owner{1}, ids.Task{2}, []*refs.Object{o})
	needed("a caller has not confirmed", began, true)
	needed("a caller has not confirmed for long", began.Add(-receiptPatience), false)
	c.table.Confirmed(ids.Owner{1}, ids.Task{2})
	needed("a caller that has confirmed all", began, false)
	c.table.AddBorrower(o, ids.Owner{7})
	needed("an object is borrowed", began, true)
	c.table.DropBorrower(o, ids.Owner{7})
	needed("it is borrowed no more", began, false)

	token := c.table.New(0, 1)
	dep := []*refs.Object{o}
	for _, x := range []struct {
		what string
		a    actor
		want bool
	}{
		{"an actor whose constructor has ended", actor{token: token}, false},
		{"a constructor with an argument", actor{token: token, creation: &creation{task: &task{deps: dep}, announce: true}}, true},
		{"a constructor with large arguments", actor{token: token, creation: &creation{task: &task{argsRef: o}, announce: true}}, true},
		{"a constructor that was announced and needs nothing", actor{token: token, creation: &creation{task: &task{}, announce: true}}, false},
		{"a constructor that was not announced", actor{token: token, creation: &creation{task: &task{}}}, true},
		{"a constructor that may run again, of a detached actor", actor{creation: &creation{task: &task{deps: dep}, again: true}}, true},
		{"a constructor that may run again, whose actor has handles here only", actor{token: token, creation: &creation{task: &task{deps: dep}, again: true}}, false},
	} {
		x.a.id = ids.Actor{1}
		c.actors[x.a.id] = &x.a
		needed(x.what, began, x.want)
	}
	c.table.AddBorrower(token, ids.Owner{7})
	if !c.creating() {
		t.Error("a constructor that may run again, of an actor with handles elsewhere, needs nothing")
	}
	c.table.DropBorrower(token, ids.Owner{7})
}

// A worker that moves asks for no more leases, gives those back that rest, and keeps those that work.
func TestSettleDown_LeasesThatRestGoBack(t *testing.T) {
	d := startDaemon(t)
	wants := d.leaseWants()
	c := d.driver()
	_, goOn, busy, idle := twoLeases(t, d, c)
	other, err := c.NewTemplate(&Template{Kind: KindTask, Name: "h", FID: []byte("hhhhhhhhhhhhhhhh"), Returns: 1, Resources: map[string]int64{"GPU": 1}})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, c, other, "waits for a worker of another kind")
	kept, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.settleDown()
	if len(c.leases) != 1 || c.leases[busy.id] != busy || !busy.recall {
		t.Errorf("%d leases are left; the one that works is wanted back: %v", len(c.leases), busy.recall)
	}
	for _, k := range c.classes {
		if k.want != 0 {
			t.Errorf("%d leases are still wanted", k.want)
		}
	}
	if c.table.Find(kept) != nil {
		t.Error("what only the program held is kept")
	}
	c.mu.Unlock()
	d.eventually("it goes back", func() bool { return slices.Equal(d.returned, []uint64{idle.id}) })
	if got := toldWants(t, c, wants); got[len(got)-1] != 0 {
		t.Errorf("the daemon is told to want %v", got)
	}
	goOn()
}

// Handing over fails when the heir goes before it has said that it lives.
func TestHandOver_HeirGoes_IsAnError(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := unixConn(t, fds[0]), unixConn(t, fds[1])
	defer ours.Close()
	passed, err := ours.File()
	if err != nil {
		t.Fatal(err)
	}
	defer passed.Close()
	go func() {
		_, files, _ := wire.ReceiveParcel(theirs)
		for _, f := range files {
			f.Close()
		}
		theirs.Close()
	}()
	if err := handOver(ours, new(will), []int{int(passed.Fd())}); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := handOver(ours, new(will), []int{int(passed.Fd())}); err == nil {
		t.Error("a will for nobody is handed over")
	}
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
