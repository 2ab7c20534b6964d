package play

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lastWrite is how long a process that ends on purpose waits for its last
// message to leave. The message is small, so the kernel takes it at once.
const lastWrite = 10 * time.Millisecond

// Worker joins the daemon and then obeys the lines that come over its own
// socket, as told lists them. The variable FAKE_WORKER=dies ends it before it
// joins, and FAKE_WORKER=hangs keeps it from ever joining.
func Worker(sock, token string) int {
	switch os.Getenv("FAKE_WORKER") {
	case "dies":
		fmt.Fprintln(os.Stderr, "ImportError: no numpy here")
		return 7
	case "hangs":
		time.Sleep(time.Hour)
	}
	u, r, arena, err := wire.Dial(sock, wire.Hello{Version: wire.Version, Role: wire.RoleWorker, Pid: os.Getpid(), Token: token})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.Socket, Net: "unix"})
	if err != nil {
		return 1
	}
	w := &worker{arena: arena, sock: sock, self: r.WorkerID}
	w.peer = wire.NewPeer(u, w.handle, func(error) { os.Exit(0) })
	w.peer.Start()
	_ = w.peer.Push(wire.TWorkerReady, wire.WorkerReady{Pid: os.Getpid()})
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return 1
		}
		go w.serve(c)
	}
}

// worker is a played worker's side of its connection to the daemon.
type worker struct {
	peer      *wire.Peer
	arena     int // the descriptor of the store's memory
	sock      string
	self      []byte    // its worker's id
	owner     ids.Owner // of its actor
	forgotten atomic.Pointer[string]
	needed    atomic.Bool // it answers that it cannot end yet
	once      atomic.Bool // what it runs must not run a second time
	turnsOnce atomic.Bool // so it will be after its next answer
	hurries   atomic.Bool // it runs another task each time that it is asked
	old       atomic.Bool // what it runs began long ago
	asked     atomic.Uint64
	silent    atomic.Bool // it answers no question of the daemon
}

// handle does what the daemon says.
func (w *worker) handle(m *wire.Message) {
	switch m.Type {
	case wire.TExit:
		if w.needed.Load() {
			_ = m.Reply(wire.ExitAnswer{Needed: true})
			return
		}
		os.Exit(0)
	case wire.TForget:
		var q wire.FunctionRef
		if m.Decode(&q) == nil {
			name := string(q.FID)
			w.forgotten.Store(&name)
		}
	case wire.TRunning:
		if !w.silent.Load() {
			r := wire.Running{Busy: 1, Name: "greedy", AgeUs: 5, Once: w.once.Load(), Call: 1}
			if n := w.asked.Add(1); w.hurries.Load() {
				r.Call = n
			}
			if w.old.Load() {
				r.AgeUs = time.Hour.Microseconds()
			}
			if w.turnsOnce.Swap(false) {
				w.once.Store(true)
			}
			_ = m.Reply(r)
		}
	case wire.TActorStart:
		w.startActor(m)
	case wire.TActorStop:
		_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: "released"})
		time.AfterFunc(lastWrite, func() { os.Exit(0) })
	}
}

// startActor plays a constructor. The actor's specification says what it does.
func (w *worker) startActor(m *wire.Message) {
	var a wire.ActorStart
	if err := m.Decode(&a); err != nil {
		os.Exit(1)
	}
	r := wire.ActorReady{ActorID: a.ActorID, Incarnation: a.Incarnation}
	if token, err := hex.DecodeString(a.Token); err == nil && len(token) == ids.OwnerSize {
		w.owner = ids.Owner(token)
	}
	switch string(a.Spec) {
	case "raises":
		r.Message = "ValueError: no"
	case "raises and dies":
		r.Message = "ValueError: no"
		_ = w.peer.Push(wire.TActorReady, r)
		_ = w.peer.Flush(context.Background())
		time.Sleep(200 * time.Microsecond) // the write itself
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	case "dies":
		os.Exit(9)
	case "runs on":
		return // the constructor does not end
	case "begins calls":
		w.beginCalls()
	}
	_ = w.peer.Push(wire.TActorReady, r)
}

// CallsBegun is the number of the latest call that an actor notes as begun
// whose specification is "begins calls". Its caller is BegunFor.
const CallsBegun = 7

// BegunFor is the connection to which such a call belongs, of the actor's owner.
const BegunFor = 1

// beginCalls asks for the page on which an actor notes the calls that it has
// begun, and notes some of its owner's. A worker of another actor, and a worker
// that asks a second time, get none.
func (w *worker) beginCalls() {
	hello := wire.Hello{Version: wire.Version, Role: wire.RoleProgress, OwnerID: w.self[:ids.OwnerSize], Pid: os.Getpid()}
	u, _, fd, err := wire.Dial(w.sock, hello)
	if err != nil || fd < 0 {
		return // an actor that may not restart has no page
	}
	u.Close()
	page, err := progress.OpenActorPage(fd)
	unix.Close(fd)
	if err != nil {
		return
	}
	if u, _, _, err := wire.Dial(w.sock, hello); err == nil {
		u.Close()
		return // a second page: nothing is noted, which the test sees
	}
	page.Take(w.owner, BegunFor).Begin(CallsBegun)
}

// serve obeys the lines of a connection. A connection that comes through a pipe begins with a hello, and a page of
// begun tasks comes along. The line "begins N" notes there that task N begins.
func (w *worker) serve(c *net.UnixConn) {
	mark, err := greeted(c)
	if err != nil {
		return
	}
	sc := bufio.NewScanner(c)
	for sc.Scan() {
		verb, rest, _ := strings.Cut(sc.Text(), " ")
		if verb == "begins" {
			seq, _ := strconv.ParseUint(rest, 10, 32)
			mark.Set(uint32(seq))
		}
		fmt.Fprintln(c, w.told(verb, rest))
	}
}

// greeted reads the hello of a connection, if it begins with one, and opens the page that came along.
func greeted(c *net.UnixConn) (mark progress.Mark, err error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return mark, err
	}
	b := make([]byte, 4)
	n, failed := 0, error(nil)
	err = rc.Read(func(fd uintptr) bool {
		n, _, failed = unix.Recvfrom(int(fd), b, unix.MSG_PEEK)
		return failed != unix.EAGAIN
	})
	if err != nil || failed != nil || n < 4 || b[3] != 0 { // the length of a hello; a line has text here
		return mark, errors.Join(err, failed)
	}
	h, page, err := wire.ReadHelloFD(c)
	if page >= 0 {
		defer unix.Close(page)
	}
	if err != nil {
		return mark, err
	}
	return progress.OpenMark(page, h.Slot, h.LeaseID), nil
}

// told does what one line says and gives the answer. In what print and eprint
// write, \n stands for an end of line.
func (w *worker) told(verb, rest string) string {
	switch verb {
	case "print":
		fmt.Print(strings.ReplaceAll(rest, `\n`, "\n"))
	case "eprint":
		fmt.Fprint(os.Stderr, strings.ReplaceAll(rest, `\n`, "\n"))
	case "flood": // writes so many bytes
		n, _ := strconv.Atoi(rest)
		line := strings.Repeat("x", 999) + "\n"
		for ; n > 0; n -= len(line) {
			fmt.Print(line)
		}
	case "exit": // ends with this code
		n, _ := strconv.Atoi(rest)
		os.Exit(n)
	case "leave": // ends on purpose, for this reason
		_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: rest})
		time.Sleep(lastWrite)
		os.Exit(0)
	case "block":
		_ = w.peer.Push(wire.TBlocked, nil)
	case "unblock":
		_ = w.peer.Push(wire.TUnblocked, nil)
	case "env":
		return os.Getenv(rest)
	case "pid":
		return strconv.Itoa(os.Getpid())
	case "forgot": // gives the function that it has to forget
		if name := w.forgotten.Load(); name != nil {
			return *name
		}
	case "needed":
		w.needed.Store(true)
	case "once":
		w.once.Store(true)
	case "turns": // once, when it has answered the next time
		w.turnsOnce.Store(true)
	case "old":
		w.old.Store(true)
	case "hurries":
		w.hurries.Store(true)
	case "silent":
		w.silent.Store(true)
	case "deaf": // closes its connection to the daemon
		w.peer.Close()
	case "child": // starts a process, with setsid in a session of its own
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: rest == "setsid"},
		})
		if err != nil {
			return err.Error()
		}
		return strconv.Itoa(pid)
	case "call", "push":
		return w.says(verb, rest)
	case "scribble":
		return w.scribble()
	case "chatter":
		n, _ := strconv.ParseUint(rest, 10, 64)
		return w.chatter(n)
	}
	return "ok"
}
