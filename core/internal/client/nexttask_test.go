package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A thread whose time is over waits no more: the next calls wake those that do.
func TestNextTask_TimePasses_OtherThreadsGetTheCalls(t *testing.T) {
	c := bareClient(t, Options{})
	c.takesCalls()
	got := make(chan *Item, 2)
	forever := func(it *Item, err error) {
		if err != nil {
			t.Error(err)
		}
		got <- it
	}
	over := make(chan struct{})
	go func() { forever(c.NextTask(testLimit, "")) }()
	waitFor(t, "the first thread waits", func() bool { return waitsIn(c) == 1 })
	// The waits of this thread begin anew until the third one waits, too.
	stop := make(chan struct{})
	go func() {
		defer close(over)
		for {
			if it, err := c.NextTask(time.Millisecond, ""); it != nil || err != nil {
				t.Errorf("the thread whose time is over gets %+v, %v", it, err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	go func() { forever(c.NextTask(testLimit, "")) }()
	waitFor(t, "three threads wait", func() bool { return waitsIn(c) == 3 })
	close(stop)
	<-over
	if n := waitsIn(c); n != 2 {
		t.Errorf("%d threads are listed, want the two that wait", n)
	}
	c.mu.Lock()
	worksFor(t, c, wire.RoleLease, frame.AppendAssign(nil, []byte("a")), frame.AppendAssign(nil, []byte("a")))
	c.mu.Unlock()
	for range 2 {
		select {
		case it := <-got:
			if it == nil || it.Kind != ItemAssign || string(it.Blob) != "a" {
				t.Errorf("a thread gets %+v", it)
			}
		case <-time.After(testLimit):
			t.Fatal("a thread that waits was not woken")
		}
	}
}

// A worker that ends lets nothing go any more: its program would have no use for that.
func TestNextTask_WorkerEnds_ForgottenFunctionsAreNotTold(t *testing.T) {
	c := bareClient(t, Options{})
	c.takesCalls()
	e := c.exec
	c.mu.Lock()
	if err := e.DeclareGroups([]string{"io"}, nil); err != nil {
		t.Fatal(err)
	}
	e.Forget([]byte("one"))
	e.Forget([]byte("two"))
	c.mu.Unlock()
	if it, err := c.NextTask(0, "io"); it != nil || err != nil {
		t.Errorf("a thread of another group gets %+v, %v", it, err)
	}
	if it := takes(t, c); it.Kind != ItemForget || string(it.Blob) != "two" {
		t.Errorf("the program gets %+v, want the function that was forgotten last", it)
	}
	c.mu.Lock()
	e.Stop("first reason")
	e.Stop("second reason")
	c.mu.Unlock()
	worksFor(t, c, wire.RoleActor, templateOf(1, nil), callOf(1, 1, ""))
	runs := func() bool { return c.exitAnswer().Runs }
	if it, err := c.NextTask(0, "io"); err != nil || it == nil || it.Kind != ItemExit || !runs() {
		t.Errorf("a thread of another group gets %+v, %v; the main loop is told so: %v", it, err, !runs())
	}
	c.mu.Lock()
	c.exec.Finish(begins(t, c))
	c.mu.Unlock()
	if it := takes(t, c); it.Kind != ItemExit || it.Reason != "first reason" || runs() {
		t.Errorf("the program gets %+v; the main loop is not told so: %v", it, runs())
	}
}
