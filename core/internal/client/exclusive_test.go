package client

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/promise"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// exclusiveWorker is the worker of an exclusive actor. Its clock is the test's.
type exclusiveWorker struct {
	*Client
	page *promise.Page
	now  *atomic.Int64
	p    *fakeCaller
}

// startExclusive starts the worker of an exclusive actor, whose node is counted on until the second 10.
func startExclusive(t *testing.T) *exclusiveWorker {
	t.Helper()
	d := startDaemon(t)
	page, err := promise.NewPage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	d.mu.Lock()
	d.promise = page
	d.mu.Unlock()
	_ = d.readies()
	x := &exclusiveWorker{page: page, now: new(atomic.Int64)}
	x.at(1)
	if x.Client, err = Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t", BootTime: func() time.Duration { return time.Duration(x.now.Load()) }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(0) })
	s := startOf(templateOf(1, named("A.__init__")), callOf(1, 1, "args"))
	s.Exclusive = true
	if err := x.BecomeActor(s); err != nil {
		t.Fatal(err)
	}
	if it, err := x.NextTask(50*time.Millisecond, ""); it != nil || err != nil {
		t.Fatalf("nothing is promised yet, and the program gets %+v, %v", it, err)
	}
	x.until(10)
	it := takes(t, x.Client)
	if it.Kind != ItemActor {
		t.Fatalf("the program gets %+v", it)
	}
	if err := x.ActorReady(it.Token, true, "", nil, nil); err != nil {
		t.Fatal(err)
	}
	x.p = callsInto(t, x.Client, wire.RoleActor, func(h *wire.Hello) { h.ActorID = s.ActorID })
	return x
}

func (x *exclusiveWorker) at(second int)    { x.now.Store(int64(second) * int64(time.Second)) }
func (x *exclusiveWorker) until(second int) { x.page.Extend(time.Duration(second) * time.Second) }

// begins returns the item that the program gets soon, nil if it gets none.
func (x *exclusiveWorker) begins(t *testing.T) *Item {
	t.Helper()
	it, err := x.NextTask(60*time.Millisecond, "")
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func TestExclusive_PromiseHasEnded_NoCallBegins(t *testing.T) {
	x := startExclusive(t)
	x.p.send(templateOf(1, nil), callOf(1, 1, "a"), callOf(2, 1, "b"), callOf(3, 1, "c"))
	first := takes(t, x.Client)
	x.at(10) // while the first call runs
	answers(t, x.Client, first, "done")
	if it := x.begins(t); it != nil {
		t.Fatalf("the promise has ended, and %q begins", textOf(it))
	}
	if s := x.p.reads(); s.op != wire.OpReply {
		t.Errorf("the answer of the call that ran is %+v", s)
	}
	x.until(20)
	if it := takes(t, x.Client); textOf(it) != "b" {
		t.Errorf("%q begins", textOf(it))
	} else {
		answers(t, x.Client, it, "done")
	}
	x.page.Revoke()
	if it := x.begins(t); it != nil {
		t.Errorf("the promise is revoked, and %q begins", textOf(it))
	}
	if x.MayBegin() {
		t.Error("a call may begin")
	}
}

// A thread that waits for the promise still hears that the process is to end.
func TestExclusive_EndsWhileItWaits(t *testing.T) {
	x := startExclusive(t)
	x.p.send(templateOf(1, nil), callOf(1, 1, "a"))
	x.at(10)
	got := make(chan *Item, 1)
	go func() {
		it, _ := x.NextTask(-1, "")
		got <- it
	}()
	time.Sleep(50 * time.Millisecond)
	x.mu.Lock()
	x.exec.Stop("told to")
	x.mu.Unlock()
	select {
	case it := <-got:
		if it == nil || it.Kind != ItemExit {
			t.Errorf("the program gets %+v", it)
		}
	case <-time.After(testLimit):
		t.Fatal("the program waits for ever")
	}
}

func TestExclusive_Generator_MakesNoItemWithoutThePromise(t *testing.T) {
	x := startExclusive(t)
	it := x.p.generates(7, Flow{Mode: FlowStream}, nil)
	yields(t, x.Client, it, "a", FeedOpen)
	x.at(10)
	yields(t, x.Client, it, "b", FeedFull)
	hasRoom(t, x.Client, it, 50*time.Millisecond, FeedFull)
	if st, err := x.FeedWatch(it.Token, 1); st != FeedFull || err != nil {
		t.Errorf("an event loop is told state %d, %v", st, err)
	}
	told := make(chan FeedState, 1)
	go func() {
		st, _ := x.FeedRoom(it.Token, -1)
		told <- st
	}()
	time.Sleep(50 * time.Millisecond)
	x.until(20)
	isToldState(t, "the promise goes on", told, FeedOpen)
	answers(t, x.Client, it, "end")
}

// An event loop takes nothing while it may begin nothing, and comes back by itself.
func TestExclusive_EventLoop_TakesNoCallWithoutThePromise(t *testing.T) {
	x := startExclusive(t)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	if err := x.LoopStart(epoll); err != nil {
		t.Fatal(err)
	}
	x.at(10)
	x.p.send(templateOf(1, nil), callOf(1, 1, "a"))
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		if items, _ := x.LoopTake(nil, 8, 10*time.Millisecond); len(items) > 0 {
			t.Fatalf("the promise has ended, and %q begins", textOf(items[0]))
		}
	}
	x.until(20)
	for end := time.Now().Add(testLimit); ; {
		if items, _ := x.LoopTake(nil, 8, time.Minute); len(items) == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the call never begins")
		}
	}
}

// Where the node is the only one, there is no page, and nothing to wait for.
func TestExclusive_OnlyNode_BeginsAtOnce(t *testing.T) {
	w := startDaemon(t).programless()
	s := startOf(templateOf(1, nil), callOf(1, 1, "args"))
	s.Exclusive = true
	if err := w.BecomeActor(s); err != nil {
		t.Fatal(err)
	}
	if it := takes(t, w); it.Kind != ItemActor || !w.MayBegin() {
		t.Errorf("the program gets %+v", it)
	}
}
