package client

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// looping is a worker whose calls an event loop takes, of which this is the poller and
// a descriptor that it polls.
type looping struct {
	d          *fakeDaemon
	driver     *Client
	epoll, own int
	fired      chan struct{}
}

func startLooping(t *testing.T) *looping {
	x := &looping{d: startDaemon(t), fired: make(chan struct{}, 100)}
	var err error
	if x.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if x.own, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	if err := unix.EpollCtl(x.epoll, unix.EPOLL_CTL_ADD, x.own, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(x.own)}); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(Options{Socket: x.d.sock(), Role: wire.RoleWorker})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LoopStart(x.epoll); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			items, fired := c.LoopTake(nil, 8, time.Second)
			if fired {
				var b [8]byte
				if _, err := unix.Read(x.own, b[:]); err == nil {
					x.fired <- struct{}{}
				}
			}
			for _, it := range items {
				switch it.Kind {
				case ItemExit:
					return
				case ItemTask:
					echo(c, it)
				}
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(0)
		<-done
		unix.Close(x.epoll)
		unix.Close(x.own)
	})
	x.driver = x.d.driver()
	return x
}

// ring makes the loop's own descriptor readable and waits until the loop was told.
func (x *looping) ring(t *testing.T) {
	t.Helper()
	one := [8]byte{1}
	if _, err := unix.Write(x.own, one[:]); err != nil {
		t.Fatal(err)
	}
	select {
	case <-x.fired:
	case <-time.After(60 * time.Second):
		t.Fatal("the loop was not told of its descriptor")
	}
}

func (x *looping) submit(t *testing.T, tmpl, number int, deps ...ids.Object) ids.Object {
	t.Helper()
	id, _, err := x.driver.Submit(&Call{Template: tmpl, Args: Value{Fmt: FmtBytes, Meta: []byte{byte(number)}}, Deps: deps})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (x *looping) get(t *testing.T, id ids.Object) {
	t.Helper()
	if f, err := x.driver.Get(id, testLimit); err != nil || f == nil || f.IsError {
		t.Fatalf("%+v, %v", f, err)
	}
}

func TestLoop_CallsAndDescriptors_BothWake(t *testing.T) {
	x := startLooping(t)
	tmpl := template(t, x.driver, "echo")
	for round := range 20 {
		x.ring(t)
		var list []ids.Object
		for i := range round * 5 {
			list = append(list, x.submit(t, tmpl, i))
		}
		x.ring(t)
		for _, id := range list {
			x.get(t, id)
		}
	}
}

// An argument that takes its time holds the calls behind it, and not the loop.
func TestLoop_SlowArgument_LoopGoesOn(t *testing.T) {
	x := startLooping(t)
	tmpl := template(t, x.driver, "echo")
	x.get(t, x.submit(t, tmpl, 1))
	var stored []ids.Object
	for range 2 {
		id, err := x.driver.Put(&Value{Bufs: [][]byte{make([]byte, MaxInline+1)}})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, id)
	}
	x.d.mu.Lock()
	x.d.holdPins = 2 // the first question is answered with the second
	x.d.mu.Unlock()
	slow := x.submit(t, tmpl, 1, stored[0])
	x.d.eventually("the argument is asked for", func() bool { return x.d.asked == 1 })
	for range 5 {
		x.ring(t)
	}
	x.d.mu.Lock()
	late := len(x.d.late)
	x.d.mu.Unlock()
	if late != 1 {
		t.Fatalf("%d questions wait", late)
	}
	x.get(t, stored[1])
	x.d.mu.Lock()
	x.d.holdPins = 0 // what is echoed is stored, too
	x.d.mu.Unlock()
	x.get(t, slow)
	x.get(t, x.submit(t, tmpl, 2, stored[0]))
}

// A look takes no notice of signals, so an event loop that looked in vain comes
// back, to run its signal handlers, and then sleeps.
func TestLoopTake_VainLook_ComesBackOnceAndThenSleeps(t *testing.T) {
	if runtime.NumCPU() == 1 {
		t.Skip("with one CPU nobody looks")
	}
	c := bareClient(t, Options{Role: wire.RoleWorker})
	c.takesCalls()
	never, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(never) })
	if err := c.LoopStart(never); err != nil {
		t.Fatal(err)
	}
	back, before := 0, false
	for range 12 { // the first waits of a process sleep
		_, fired := c.LoopTake(nil, 1, 5*time.Millisecond)
		if fired && before {
			t.Error("the wait after one that came back looks as well: with nothing to do it would never sleep")
		}
		if before = fired; fired {
			back++
		}
	}
	if back == 0 {
		t.Error("after a vain look the loop does not come back: a signal that came meanwhile would not be seen")
	}
}
