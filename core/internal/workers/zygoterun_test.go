package workers

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// told is one event of a zygote.
type told struct {
	what    string // the name of the method
	text    string // a token or a text
	message string
	pid, n  int // n is a pidfd or a status
}

// listener passes on what a zygote tells.
type listener chan told

func (l listener) Ready()                       { l <- told{what: "ready"} }
func (l listener) Forked(tok string, p, fd int) { l <- told{what: "forked", text: tok, pid: p, n: fd} }
func (l listener) Exited(p, status int)         { l <- told{what: "exited", pid: p, n: status} }
func (l listener) Failed(tok, message string) {
	l <- told{what: "failed", text: tok, message: message}
}
func (l listener) Noted(text string)   { l <- told{what: "noted", text: text} }
func (l listener) Late()               { l <- told{what: "late"} }
func (l listener) Gone(message string) { l <- told{what: "gone", message: message} }

// running is a zygote with a played interpreter.
type running struct {
	*Zygote
	t      *testing.T
	events listener
	reaped chan [2]int // process and status
	dir    string
	over   bool

	wasReaped bool
}

// runZygote starts a zygote that is closed at the end of the test.
func runZygote(t *testing.T, mode string, change func(*wire.EnvSpec)) *running {
	t.Helper()
	python, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &running{t: t, events: make(listener, 2*MaxOrders), reaped: make(chan [2]int, 100), dir: t.TempDir()}
	spec := &wire.EnvSpec{Python: python, Env: map[string]string{playMode: mode}}
	if change != nil {
		change(spec)
	}
	x.Zygote = NewZygote(spec, ids.JobOf(7), "/sessions/one/sock", x.dir, x.events)
	if x.Process() != 0 {
		t.Error("a zygote has a process before it runs")
	}
	reaper := StartReaper(func(pid, status int) { x.reaped <- [2]int{pid, status} })
	t.Cleanup(reaper.Close)
	go x.Run(reaper)
	t.Cleanup(func() {
		x.Close("the test is over")
		for !x.over {
			x.next("")
		}
		if x.Process() > 0 && !x.wasReaped {
			x.ended()
		}
	})
	return x
}

// next returns the next event, which must be of a kind unless that is empty.
func (x *running) next(what string) told {
	x.t.Helper()
	select {
	case e := <-x.events:
		x.over = x.over || e.what == "gone"
		if what != "" && e.what != what {
			x.t.Fatalf("got %+v, want %s", e, what)
		}
		return e
	case <-time.After(testLimit):
		x.over = true
		x.t.Fatalf("no event of the zygote, want %s", what)
		return told{}
	}
}

// order forks with a token. What the worker writes goes to the output that is returned.
func (x *running) order(token string, to *Sink) *Output {
	x.t.Helper()
	o, stdout, stderr, err := OpenOutput(x.dir, to, func() bool { return true })
	if err != nil {
		x.t.Fatal(err)
	}
	if !x.Fork(ForkOrder{Token: token, Stdout: stdout, Stderr: stderr}) {
		x.t.Fatalf("order %.40q is refused", token)
	}
	return o
}

// ended returns how the zygote's process has ended.
func (x *running) ended() int {
	x.t.Helper()
	select {
	case r := <-x.reaped:
		if x.wasReaped = true; r[0] != x.Process() {
			x.t.Fatalf("process %d was reaped, the zygote is %d", r[0], x.Process())
		}
		return r[1]
	case <-time.After(testLimit):
		x.wasReaped = true
		x.t.Fatal("the zygote's process lives on")
		return 0
	}
}

// over waits until nobody has the pipes of an output any more.
func over(t *testing.T, o *Output) {
	t.Helper()
	select {
	case <-o.Done():
	case <-time.After(testLimit):
		t.Fatal("somebody still has the pipes of a worker")
	}
}

// holds waits until a condition is true.
func holds(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(testLimit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", testLimit, what)
		}
	}
}

// openNow counts the descriptors of this process.
func openNow() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// The interpreter gets the module, the environment and the folder /. Its setup has
// the whole specification.
func TestZygote_Run_StartsTheInterpreterOfTheSpecification(t *testing.T) {
	large := strings.Repeat("x", maxExecVar)
	x := runZygote(t, "", func(s *wire.EnvSpec) {
		s.Preload, s.Cwd, s.Bare = []string{"numpy"}, "/somewhere", true
		s.JobEnv = map[string]string{"OF_JOB": "1", jobVar: "wrong"}
		s.Env["LARGE"] = large
	})
	var b began
	if err := json.Unmarshal([]byte(x.next("noted").text), &b); err != nil {
		t.Fatal(err)
	}
	x.next("ready")
	if want := []string{x.spec.Python, "-m", zygoteModule, strings.Repeat(" ", 128)}; !slices.Equal(b.Args, want) {
		t.Errorf("it was started with %q, want %q", b.Args, want)
	}
	want := []string{"OF_JOB=1", playMode + "=", jobVar + "=" + ids.JobOf(7).String(), sessionVar + "=one"}
	if !slices.Equal(b.Env, want) {
		t.Errorf("its environment is %.200q, want %q", b.Env, want)
	}
	if b.Cwd != "/" || b.Stdin != "/dev/null" {
		t.Errorf("it runs in %q and reads %q", b.Cwd, b.Stdin)
	}
	if b.Pid != x.Process() || b.Session != b.Pid {
		t.Errorf("it is %d in session %d, Process says %d", b.Pid, b.Session, x.Process())
	}
	var setup zygoteSetup
	if err := json.Unmarshal([]byte(b.Setup), &setup); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(setup.Preload, []string{"numpy"}) || setup.SysPath == nil || setup.Cwd != "/somewhere" || !setup.Bare || setup.Env["LARGE"] != "as large as a variable that exec does not pass" {
		t.Errorf("its setup is %.200s", b.Setup)
	}
}

// An order becomes a process, whose id, handle, output and status are told.
func TestZygote_Order_BecomesAWorker(t *testing.T) {
	x := runZygote(t, "", nil)
	x.next("noted")
	x.next("ready")
	lines := make(chan wire.LogLine, 10)
	sink := NewSink(func(ls []wire.LogLine) {
		for _, l := range ls {
			lines <- l
		}
	}, func() int { return 0 })
	t.Cleanup(sink.Close)
	token := `echo "of $0"; echo wrong >&2; exec /bin/sleep 600`
	o := x.order(token, sink)
	e := x.next("forked")
	if e.text != token || e.pid <= 1 || e.n < 0 {
		t.Fatalf("got %+v", e)
	}
	o.SetPid(e.pid)
	ended := make(chan *Process, 1)
	p, err := WatchHandle(e.pid, e.n, func(p *Process) { ended <- p })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Signal(unix.SIGKILL) })
	got := map[bool]wire.LogLine{}
	for range 2 {
		select {
		case l := <-lines:
			got[l.Stderr] = l
		case <-time.After(testLimit):
			t.Fatalf("only %+v came out of the worker", got)
		}
	}
	if got[false].Text != "of /sessions/one/sock" || got[true].Text != "wrong" || got[true].Pid != e.pid || got[false].Pid != e.pid {
		t.Errorf("it wrote %+v", got)
	}
	p.Signal(unix.SIGTERM)
	if end := x.next("exited"); end.pid != e.pid || end.n != -int(unix.SIGTERM) {
		t.Errorf("got %+v", end)
	}
	if <-ended != p {
		t.Error("another process has ended")
	}
	over(t, o)
	out, errs := logged(t, x.dir, fmt.Sprintf("worker-%d.out", e.pid)), logged(t, x.dir, fmt.Sprintf("worker-%d.err", e.pid))
	if out != "of /sessions/one/sock\n" || errs != "wrong\n" {
		t.Errorf("its files have %q and %q", out, errs)
	}
	x.order("exit 5", nil)
	e = x.next("forked")
	unix.Close(e.n)
	if end := x.next("exited"); end.pid != e.pid || end.n != 5 {
		t.Errorf("got %+v, want status 5", end)
	}
}

// An order that fails, a note, and packets that make no sense: each is told as
// what it is or is passed over, and no descriptor stays.
func TestZygote_Packets_AreToldOrPassedOver(t *testing.T) {
	x := runZygote(t, "", nil)
	x.next("noted")
	x.next("ready")
	was := openNow()
	over(t, x.order("refuse no memory", nil))
	if e := x.next("failed"); e.text != "refuse no memory" || e.message != "no memory" {
		t.Errorf("got %+v", e)
	}
	for _, c := range []struct {
		token string
		want  told
	}{
		{`send {"op":"forked","token":"a","pid":2}`, told{what: "forked", text: "a", pid: 2, n: -1}},
		{`send {"op":"exit","pid":2,"status":-9}`, told{what: "exited", pid: 2, n: -9}},
		{`with 2 {"op":"note","text":"b"}`, told{what: "noted", text: "b"}},
		{`with 3 {"op":"ready"}`, told{what: "ready"}},
	} {
		over(t, x.order(c.token, nil))
		if e := x.next(""); e != c.want {
			t.Errorf("%s gives %+v, want %+v", c.token, e, c.want)
		}
	}
	for _, token := range []string{
		`with 2 {"op":"forked","token":"a","pid":1}`, `with 1 {"op":"forked","pid":-1}`, `send {"op":"exit","pid":1}`, `send {"op":"exit","pid":0}`,
		`with 2 {"op":`, `send 5`, `with 1 {"op":"dance","pid":9}`,
	} {
		over(t, x.order(token, nil))
	}
	o := x.order(`with 3 {"op":"forked","token":"c","pid":1000000}`, nil)
	e := x.next("forked")
	if e.text != "c" || e.pid != 1000000 || e.n < 0 {
		t.Fatalf("got %+v", e)
	}
	if flags, err := unix.FcntlInt(uintptr(e.n), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("other programs get its descriptor: flags %d, %v", flags, err)
	}
	unix.Close(e.n) // the order's standard output
	over(t, o)
	holds(t, "all descriptors that came with packets are closed", func() bool { return openNow() <= was })
}

// A zygote that is closed is told to end, and Gone has the reason and what it wrote last.
func TestZygote_Close_TellsTheProcessToEnd(t *testing.T) {
	x := runZygote(t, "", nil)
	x.next("noted")
	x.next("ready")
	file := filepath.Join(x.dir, fmt.Sprintf("zygote-%d.log", x.Process()))
	holds(t, "what the zygote wrote is in its file", func() bool {
		b, _ := os.ReadFile(file)
		return string(b) == "set up\n"
	})
	x.Close("the job is over")
	if e := x.next("gone"); !strings.HasPrefix(e.message, "the job is over; it last wrote:\nset up") {
		t.Errorf("got %q", e.message)
	}
	if x.Fork(ForkOrder{Token: "late"}) {
		t.Error("a zygote that is gone takes an order")
	}
	if status := x.ended(); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	holds(t, "the zygote was told to end", func() bool {
		b, _ := os.ReadFile(file)
		return string(b) == "set up\ntold to end\n"
	})
}

// A zygote that ends by itself is told as gone with its last words, and orders
// that it has not taken are closed.
func TestZygote_EndsByItself_ItsLastWordsAreTold(t *testing.T) {
	x := runZygote(t, "", nil)
	x.next("noted")
	x.next("ready")
	over(t, x.order("say the interpreter has a fault", nil))
	file := filepath.Join(x.dir, fmt.Sprintf("zygote-%d.log", x.Process()))
	holds(t, "what the zygote wrote is in its file", func() bool {
		b, _ := os.ReadFile(file)
		return string(b) == "set up\nthe interpreter has a fault\n"
	})
	outputs := []*Output{x.order("die", nil)}
	for range 20 {
		o, stdout, stderr, err := OpenOutput(x.dir, nil, func() bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if order := (ForkOrder{Token: "exit 0", Stdout: stdout, Stderr: stderr}); !x.Fork(order) {
			order.Close()
		}
		outputs = append(outputs, o)
	}
	want := "the zygote (the process that forks workers) ended; it last wrote:\nset up\nthe interpreter has a fault"
	if e := x.next("gone"); e.message != want {
		t.Errorf("got %q, want %q", e.message, want)
	}
	for _, o := range outputs {
		over(t, o)
	}
	if got := x.ended(); got != 3 {
		t.Errorf("it ended with %d, want 3", got)
	}
}

// An interpreter that is not there is told with its name, orders are closed, and nothing stays open.
func TestZygote_NoInterpreter_IsTold(t *testing.T) {
	was := 0
	for range 2 {
		was = openNow()
		x := runZygote(t, "", func(s *wire.EnvSpec) { s.Python = "/nowhere/python" })
		if e := x.next("gone"); e.message != "start interpreter /nowhere/python: no such file or directory" {
			t.Errorf("got %q", e.message)
		}
		if x.Process() != 0 {
			t.Errorf("it has process %d", x.Process())
		}
	}
	if now := openNow(); now > was {
		t.Errorf("%d descriptors are open, before there were %d", now, was)
	}
	z := NewZygote(&wire.EnvSpec{Python: "/nowhere/python"}, ids.JobOf(1), "", t.TempDir(), make(listener, 1))
	o, stdout, stderr, err := OpenOutput(t.TempDir(), nil, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	z.Fork(ForkOrder{Token: "x", Stdout: stdout, Stderr: stderr})
	z.Run(&Reaper{})
	over(t, o)
}

// A zygote that reads nothing holds a write up, until Unblock ends the write.
// Its orders are closed without being told as failed; it is killed when it does not end.
func TestZygote_ReadsNothing_UnblockEndsTheWrite(t *testing.T) {
	NewZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", nil).Unblock() // one that has not begun has nothing to end
	x := runZygote(t, "deaf", nil)
	x.next("ready")
	var outputs []*Output
	for range 60 {
		outputs = append(outputs, x.order(strings.Repeat("x", 8<<10), nil))
	}
	x.Unblock()
	holds(t, "all orders are taken from the queue", func() bool { return len(x.orders) == 0 })
	began := time.Now()
	x.Close("it does not answer")
	if e := x.next("gone"); e.message != "it does not answer" {
		t.Errorf("got %+v", e)
	}
	if status := x.ended(); status != -int(unix.SIGKILL) {
		t.Errorf("it ended with %d", status)
	}
	if took := time.Since(began); took < zygoteGrace-10*time.Millisecond {
		t.Errorf("it was killed after %v, its grace is %v", took, zygoteGrace)
	}
	for _, o := range outputs {
		over(t, o)
	}
}

// connectedZygote is the daemon's end of a zygote's socket, and the descriptor of the other end.
func connectedZygote(t *testing.T) (c *net.UnixConn, other int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(pair[0]), "zygote")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		unix.Close(pair[1])
		t.Fatal(err)
	}
	return conn.(*net.UnixConn), pair[1]
}

// A zygote that serves for longer than modules may take to import is told as late, once.
func TestZygote_ServesFor_ImportLimit_IsLate(t *testing.T) {
	c, other := connectedZygote(t)
	defer unix.Close(other)
	defer c.Close()
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{ImportLimit - 1, 3 * ImportLimit} {
			events := make(listener, 3)
			z := NewZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", events)
			gone, served := make(chan string), make(chan string)
			go func() { served <- z.serve(c, gone) }()
			time.Sleep(wait)
			gone <- "it has ended"
			if why := <-served; why != "it has ended" {
				t.Errorf("got %q", why)
			}
			time.Sleep(ImportLimit)
			if n := len(events); n != min(1, int(wait/ImportLimit)) {
				t.Errorf("after %v: %d events", wait, n)
			}
		}
	})
}
