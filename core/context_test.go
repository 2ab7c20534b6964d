package core_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

// everyCall makes every call of the package that takes a context, with a reference to a value that is
// not there, and returns the errors.
func everyCall(ctx context.Context, s *core.Session, pending *core.Ref[any]) map[string]error {
	out := map[string]error{}
	note := func(name string, err error) { out[name] = err }
	_, err := core.Get(ctx, pending)
	note("Get", err)
	_, err = core.GetAll(ctx, []*core.Ref[any]{pending})
	note("GetAll", err)
	_, _, err = core.Wait(ctx, []*core.Ref[any]{pending}, 1)
	note("Wait", err)
	_, err = core.Put(ctx, s, 1)
	note("Put", err)
	_, err = core.Put(ctx, s, make([]byte, 1<<20))
	note("Put of a large value", err)
	f, err := s.Function("shop:same", core.Call{})
	if err != nil {
		note("Function", err)
	} else {
		_, err = core.Submit[any](ctx, f, 1)
		note("Submit", err)
		_, err = core.SubmitMany[any](ctx, f, 1)
		note("SubmitMany", err)
		_, err = core.Stream[any](ctx, f, 1)
		note("Stream", err)
	}
	_, err = s.NewActor(ctx, "shop:Counter", core.Call{})
	note("NewActor", err)
	_, err = s.NewActor(ctx, "shop:Counter", core.Call{Name: "of everyCall"})
	note("NewActor with a name", err)
	_, err = s.GetActor(ctx, "nobody", "")
	note("GetActor", err)
	_, err = s.Nodes(ctx)
	note("Nodes", err)
	_, err = s.Resources(ctx)
	note("Resources", err)
	_, err = s.AvailableResources(ctx)
	note("AvailableResources", err)
	return out
}

// ended returns contexts that have ended, in both ways.
func ended(t *testing.T) map[string]context.Context {
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	t.Cleanup(cancel)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	return map[string]context.Context{"deadline": late, "cancelled": cancelled}
}

// A context that has ended ends every call, with its own error and code.
func TestContext_Ended_EveryCallReturnsItsError(t *testing.T) {
	ctx, s := join(t, opts)
	sleep := must[*core.Function](t)(s.Function("shop:sleep", core.Call{}))
	pending := must[*core.Ref[any]](t)(core.Submit[any](ctx, sleep, 60))
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}))
	items := must[*core.Items[int]](t)(core.InvokeStream[int](ctx, actor, "steps", 3))
	for name, over := range ended(t) {
		calls := everyCall(over, s, pending)
		_, err := core.Connect(over, opts)
		calls["Connect"] = err
		_, err = core.Invoke[int](over, actor, "add")
		calls["Invoke"] = err
		_, err = core.InvokeMany[int](over, actor, "pair", 2)
		calls["InvokeMany"] = err
		_, err = core.InvokeStream[int](over, actor, "steps", 1)
		calls["InvokeStream"] = err
		_, err = items.Next(over)
		calls["Next"] = err
		for _, err := range items.All(over) {
			calls["All"] = err
		}
		calls["Ref.Cancel"] = pending.Cancel(over, true)
		calls["Items.Cancel"] = items.Cancel(over, false)
		calls["Kill"] = actor.Kill(over)
		for call, err := range calls {
			if !errors.Is(err, over.Err()) || core.CodeOf(err) == "internal" {
				t.Errorf("%s with a context that has ended (%s): %v, code %s", call, name, err, core.CodeOf(err))
			}
		}
	}
	if got := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, actor, "add", 3)))); got != 3 {
		t.Errorf("the actor has %d: calls were made, or it was killed", got)
	}
	if err := pending.Cancel(ctx, true); err != nil {
		t.Error(err)
	}
	if _, err := core.Get(ctx, pending); !errors.Is(err, core.ErrTaskCancelled) {
		t.Errorf("get of a cancelled task: %v", err)
	}
	for _, over := range ended(t) {
		if err := s.Shutdown(over); err != nil && !errors.Is(err, over.Err()) {
			t.Errorf("Shutdown: %v", err)
		}
	}
	if !errors.Is(s.Err(), core.ErrClosed) {
		t.Error("a Shutdown with a context that has ended did not close the session")
	}
}

// A wait ends with its context at once, and leaves no goroutine.
func TestContext_EndsDuringAWait_ReturnsAtOnceAndLeavesNothing(t *testing.T) {
	ctx, s := join(t, opts)
	sleep := must[*core.Function](t)(s.Function("shop:sleep", core.Call{}))
	pending := must[*core.Ref[any]](t)(core.Submit[any](ctx, sleep, 60))
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}))
	asleep := must[*core.Items[any]](t)(core.InvokeStream[any](ctx, actor, "sleep", 60))
	before := runtime.NumGoroutine()
	for range 50 {
		for name, wait := range map[string]func(context.Context) error{
			"Get":  func(c context.Context) error { _, err := core.Get(c, pending); return err },
			"Wait": func(c context.Context) error { _, _, err := core.Wait(c, []core.AnyRef{pending}, 1); return err },
			"Next": func(c context.Context) error { _, err := asleep.Next(c); return err },
		} {
			c, cancel := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- wait(c) }()
			runtime.Gosched()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := core.Get(short, pending); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a get with a deadline: %v", err)
	}
	for end := time.Now().Add(limit); runtime.NumGoroutine() > before+2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d afterwards", before, runtime.NumGoroutine())
		}
	}
}

// halt stops a process until the test ends, and returns when no thread of the process runs any more: the
// kernel gives the signal to one thread, and the others run on until that thread has had a processor.
func halt(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	stopped := func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, name := range threads {
			b, err := os.ReadFile(name)
			if _, after, ok := strings.Cut(string(b), ") "); err == nil && ok && after[0] != 'T' {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(limit); !stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not stop within %v", pid, limit)
		}
	}
}

// A daemon that does not answer keeps nobody beyond the context.
func TestContext_DaemonIsStopped_EveryCallReturnsInTime(t *testing.T) {
	o := cluster(t)
	ctx, s := join(t, o)
	sleep := must[*core.Function](t)(s.Function("shop:sleep", core.Call{}))
	pending := must[*core.Ref[any]](t)(core.Submit[any](ctx, sleep, 60))
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}))
	halt(t, daemonOf(t, o))
	// The daemon is needed for these; the others go on without.
	for name, do := range map[string]func(context.Context) error{
		"Connect":   func(c context.Context) error { _, err := core.Connect(c, o); return err },
		"Get":       func(c context.Context) error { _, err := core.Get(c, pending); return err },
		"large Put": func(c context.Context) error { _, err := core.Put(c, s, make([]byte, 1<<20)); return err },
		"large argument": func(c context.Context) error {
			_, err := core.Submit[any](c, sleep, make([]byte, 1<<20))
			return err
		},
		"NewActor": func(c context.Context) error {
			_, err := s.NewActor(c, "shop:Counter", core.Call{Name: "x"})
			return err
		},
		"GetActor":  func(c context.Context) error { _, err := s.GetActor(c, "x", ""); return err },
		"Nodes":     func(c context.Context) error { _, err := s.Nodes(c); return err },
		"Kill":      func(c context.Context) error { return actor.Kill(c) },
		"Resources": func(c context.Context) error { _, err := s.AvailableResources(c); return err },
	} {
		c, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		began := time.Now()
		if err := do(c); !errors.Is(err, context.DeadlineExceeded) || core.CodeOf(err) != "deadline_exceeded" {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 4*time.Second { // the handshake's own limit is 5 s
			t.Errorf("%s took %v with 100 ms to go", name, took)
		}
		cancel()
	}
}

// When the daemon was killed every call ends with a sentinel.
func TestDaemonKilled_EveryCallSaysSo(t *testing.T) {
	o := cluster(t)
	ctx, s := join(t, o)
	sleep := must[*core.Function](t)(s.Function("shop:sleep", core.Call{}))
	pending := must[*core.Ref[any]](t)(core.Submit[any](ctx, sleep, 60))
	waits := make(chan error, 1)
	go func() {
		_, err := core.Get(ctx, pending)
		waits <- err
	}()
	if err := syscall.Kill(daemonOf(t, o), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, core.ErrDaemonDied) {
		t.Errorf("a get during the kill: %v", err)
	}
	for name, err := range everyCall(ctx, s, pending) {
		if !errors.Is(err, core.ErrDaemonDied) || core.CodeOf(err) != "daemon_died" {
			t.Errorf("%s after the kill: %v", name, err)
		}
	}
	if _, err := core.Connect(ctx, o); !errors.Is(err, core.ErrNoCluster) || core.CodeOf(err) != "no_cluster" {
		t.Errorf("Connect after the kill: %v", err)
	}
	if !errors.Is(s.Err(), core.ErrDaemonDied) {
		t.Error(s.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// daemonOf returns the pid of a cluster's daemon.
func daemonOf(t *testing.T, o core.Options) int {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(o.Address, "d.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	if err := raw.Control(func(fd uintptr) { pid = peerPid(t, fd) }); err != nil {
		t.Fatal(err)
	}
	return pid
}

// Nothing to connect to is ErrNoCluster, whatever is missing.
func TestConnect_NoCluster_SaysSo(t *testing.T) {
	base := t.TempDir()
	t.Setenv("EAGLERAY_TMPDIR", base)
	dead := filepath.Join(base, "s")
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dead, "d.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for _, address := range []string{"", "auto", base, dead} {
		_, err := core.Connect(context.Background(), core.Options{Address: address})
		if !errors.Is(err, core.ErrNoCluster) || !strings.Contains(err.Error(), "eagleray start --head") {
			t.Errorf("Connect to %q: %v", address, err)
		}
	}
}

// What cannot be an address is ErrNoCluster, too, and the text says what to give in its place.
func TestConnect_NoAddress_SaysWhatToGive(t *testing.T) {
	for address, want := range map[string]string{
		"ray://127.0.0.1:10001": "there is no Ray Client here", "127.0.0.1": "HOST:PORT of a head", "local": "HOST:PORT of a head", "s/d.sock": "HOST:PORT of a head",
	} {
		if _, err := core.Connect(t.Context(), core.Options{Address: address}); !errors.Is(err, core.ErrNoCluster) || !strings.Contains(err.Error(), want) {
			t.Errorf("Connect to %q: %v", address, err)
		}
	}
}

// Of two nodes of a cluster in one folder, the address of the head means the one that "auto" means.
func TestConnect_TwoNodesOfTheCluster_TakesTheCurrentOne(t *testing.T) {
	tmp, err := os.MkdirTemp("/tmp", "er") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("EAGLERAY_TMPDIR", tmp)
	base := filepath.Join(tmp, fmt.Sprintf("eagleray-%d", os.Getuid()))
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"s-1", "s-2", "s-3"} {
		dir := filepath.Join(base, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(dir, "heads"), "127.0.0.1:6379\n")
		l, err := net.Listen("unix", filepath.Join(dir, "d.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() { // a daemon that closes each connection
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Close()
			}
		}()
	}
	for _, name := range []string{"s-2", "s-3", "s-1"} {
		write(filepath.Join(base, "current"), filepath.Join(base, name)+"\n")
		_, err := core.Connect(t.Context(), core.Options{Address: "127.0.0.1:6379"})
		if err == nil || !strings.Contains(err.Error(), "/"+name+"/d.sock") {
			t.Errorf("the current one is %s: %v", name, err)
		}
	}
}

// The example runs as it lies there.
func TestGoServiceExample_Runs(t *testing.T) {
	out, err := exec.Command("go", "run", root+"/examples/goservice").CombinedOutput()
	for _, words := range []string{"sum of roots: 10", "raised: ValueError", "counted: 5", "last element 999999"} {
		if err != nil || !strings.Contains(string(out), words) {
			t.Fatalf("%v, want %q\n%s", err, words, out)
		}
	}
}
