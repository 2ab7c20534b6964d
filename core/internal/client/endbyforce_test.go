package client

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// forced is a worker of the test, whose end by force is only counted.
type forced struct {
	*Client
	begun chan *Item
	goOn  chan struct{} // each message lets one task be answered
	ends  atomic.Int32
}

func (d *fakeDaemon) forcedWorker() *forced {
	f := &forced{begun: make(chan *Item, 10), goOn: make(chan struct{}, 10)}
	f.Client = d.worker(func(c *Client, it *Item) {
		f.begun <- it
		<-f.goOn
		echo(c, it)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.die = func() { f.ends.Add(1) }
	return f
}

// runs returns the call that the worker runs.
func (f *forced) runs(token uint64) *execute.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.exec.Call(token)
}

func TestEndByForce_CallRuns_ProcessEndsAndTellsTheDaemonBefore(t *testing.T) {
	d := startDaemon(t)
	w, c := d.forcedWorker(), d.driver()
	ref := submitText(t, c, template(t, c, "f"), "x")
	it := <-w.begun
	told := atomic.Int32{}
	w.mu.Lock()
	w.die = func() { // who has the lock answers nothing in between
		if w.mu.TryLock() {
			w.mu.Unlock()
			t.Error("the lock is free while the process ends: its task may still be answered")
		}
		d.eventually("the daemon has heard why", func() bool { return len(d.exits) == 1 && d.exits[0] == wire.ExitForced })
		told.Add(1)
	}
	w.mu.Unlock()
	w.EndByForce(w.runs(it.Token), nil)
	if told.Load() != 1 {
		t.Error("a process whose task was cancelled with force lives on")
	}
	w.goOn <- struct{}{}
	outcome(t, c, ref)
}

// The children of a task that is cancelled with force hear of that first. Meanwhile the task is
// answered, and the process runs the next one.
func TestEndByForce_CallIsAnsweredMeanwhile_ProcessGoesOn(t *testing.T) {
	d := startDaemon(t)
	w, c := d.forcedWorker(), d.driver()
	tm := template(t, c, "f")
	ref := submitText(t, c, tm, "first")
	it := <-w.begun
	k := w.runs(it.Token)
	children, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		w.EndByForce(k, children)
	}()
	w.goOn <- struct{}{}
	if text, code := outcome(t, c, ref); text != "first" {
		t.Fatalf("%q, %q", text, code)
	}
	next := submitText(t, c, tm, "next")
	<-w.begun
	close(children)
	<-ended
	w.goOn <- struct{}{}
	if text, code := outcome(t, c, next); text != "next" {
		t.Errorf("the next task: %q, %q", text, code)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.ends.Load() != 0 || len(d.exits) != 0 {
		t.Errorf("the process of another task was ended %d times, and the daemon was told %q", w.ends.Load(), d.exits)
	}
}

// stall lets nothing leave through the socket of a caller: another socket, which is full, takes the place of its
// descriptor until the returned function is called. After that the poller still believes that the socket is full.
func stall(t *testing.T, in execute.Pipe) (goOn func()) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(pair[0])
		unix.Close(pair[1])
	})
	for b := make([]byte, 64<<10); err == nil; {
		_, err = unix.Write(pair[0], b)
	}
	if err != unix.EAGAIN {
		t.Fatalf("fill a socket: %v", err)
	}
	own, err := unix.FcntlInt(uintptr(in.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(fd int) {
		if err := unix.Dup3(fd, in.FD(), unix.O_CLOEXEC); err != nil {
			t.Errorf("put descriptor %d in the place of %d: %v", fd, in.FD(), err)
		}
	}
	replace(pair[0])
	return sync.OnceFunc(func() {
		replace(own)
		unix.Close(own)
	})
}

func TestEndByForce_AnswerOfAnEarlierCallIsNotWrittenYet_ItLeavesFirst(t *testing.T) {
	d := startDaemon(t)
	w, c := d.forcedWorker(), d.driver()
	ref := submitText(t, c, template(t, c, "f"), "earlier")
	it := <-w.begun
	earlier := w.runs(it.Token)
	goOn := stall(t, earlier.Caller.Pipe())
	w.goOn <- struct{}{}
	d.eventually("the earlier call has its answer", func() bool { return w.runs(it.Token) == nil })
	goOn()
	w.mu.Lock()
	reads(t, earlier.Caller, templateOf(1<<20, nil), callOf(1<<20, 1<<20, "later"))
	later := begins(t, w.Client)
	w.mu.Unlock()
	w.EndByForce(later, nil)
	if text, code := outcome(t, c, ref); text != "earlier" || w.ends.Load() != 1 {
		t.Errorf("the earlier call: %q, %q; the process ended %d times", text, code, w.ends.Load())
	}
}

// Through the messages: a child that does not hear holds its parent's forced end up.
func TestCancel_ForcedWhileAChildDoesNotHear_TheNextTaskIsLeftAlone(t *testing.T) {
	d := startDaemon(t)
	w := d.forcedWorker()
	c := d.driver()
	tm := template(t, c, "parent")
	ref := submitText(t, c, tm, "parent")
	it := <-w.begun
	v := d.forcedWorker()
	submitText(t, w.Client, template(t, w.Client, "child"), "child")
	<-v.begun
	v.mu.Lock() // it does not hear
	if err := c.Cancel(ref, true, true); err != nil {
		t.Fatal(err)
	}
	w.goOn <- struct{}{}
	d.eventually("the parent is answered", func() bool { return w.runs(it.Token) == nil })
	if text, code := outcome(t, c, ref); text != "parent" {
		t.Errorf("the task that had ended before it was to: %q, %q", text, code)
	}
	next := submitText(t, c, tm, "next")
	<-w.begun
	v.mu.Unlock()
	d.eventually("the child's worker ends", func() bool { return v.ends.Load() == 1 })
	v.goOn <- struct{}{}
	w.goOn <- struct{}{}
	if text, code := outcome(t, c, next); text != "next" || w.ends.Load() != 0 {
		t.Errorf("the next task: %q, %q; its process was ended %d times", text, code, w.ends.Load())
	}
}
