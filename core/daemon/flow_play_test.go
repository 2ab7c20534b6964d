package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// playZygote forks workers as docs/protocol.md says, over descriptor 3.
func playZygote() int {
	unix.CloseOnExec(3)
	if os.Getenv("FAKE_ZYGOTE") == "broken" {
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'wrong'")
		return 1
	}
	reply := func(v map[string]any, fd int) {
		b, _ := json.Marshal(v)
		var oob []byte
		if fd >= 0 {
			oob = unix.UnixRights(fd)
		}
		_ = unix.Sendmsg(3, b, oob, nil, 0)
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go func() {
		for range children {
			for {
				var ws unix.WaitStatus
				pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
				if err != nil || pid <= 0 {
					break
				}
				status := ws.ExitStatus()
				if ws.Signaled() {
					status = -int(ws.Signal())
				}
				reply(map[string]any{"op": "exit", "pid": pid, "status": status}, -1)
			}
		}
	}()
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(16))
	for {
		n, on, _, _, err := unix.Recvmsg(3, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0
		}
		var fds []int
		if ms, err := unix.ParseSocketControlMessage(oob[:on]); err == nil {
			for i := range ms {
				got, _ := unix.ParseUnixRights(&ms[i])
				fds = append(fds, got...)
			}
		}
		var p struct{ Op, Token, Sock string }
		if err := json.Unmarshal(buf[:n], &p); err != nil {
			return 2
		}
		switch p.Op {
		case "setup":
			reply(map[string]any{"op": "ready"}, -1)
		case "fork":
			pidfd := -1
			pid, err := syscall.ForkExec("/proc/self/exe", []string{"fake-worker", p.Sock, p.Token}, &syscall.ProcAttr{
				Env: os.Environ(), Files: []uintptr{0, uintptr(fds[0]), uintptr(fds[1])},
				Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
			})
			if err != nil {
				reply(map[string]any{"op": "failed", "token": p.Token, "error": err.Error()}, -1)
				break
			}
			reply(map[string]any{"op": "forked", "token": p.Token, "pid": pid}, pidfd)
			unix.Close(pidfd)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

// playWorker joins the daemon, then does what the lines tell that come over
// its own socket.
func playWorker(sock, token string) int {
	if os.Getenv("FAKE_WORKER") == "dies" {
		fmt.Fprintln(os.Stderr, "ImportError: no numpy here")
		return 7
	}
	u, r, _, err := wire.Dial(sock, wire.Hello{Version: wire.Version, Role: wire.RoleWorker, Pid: os.Getpid(), Token: token})
	if err != nil {
		return 1
	}
	l, err := net.Listen("unix", r.Addr)
	if err != nil {
		return 1
	}
	w := &played{}
	w.peer = wire.NewPeer(u, w.handle, func(error) { os.Exit(0) })
	w.peer.Start()
	_ = w.peer.Push(wire.TWorkerReady, wire.WorkerReady{Pid: os.Getpid()})
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go w.serve(c)
	}
}

// played is a worker's side of its connection to the daemon.
type played struct {
	peer      *wire.Peer
	forgotten atomic.Pointer[string]
}

func (w *played) handle(m *wire.Message) {
	switch m.Type {
	case wire.TExit:
		os.Exit(0)
	case wire.TForget:
		var q wire.FunctionRef
		if m.Decode(&q) == nil {
			name := string(q.FID)
			w.forgotten.Store(&name)
		}
	case wire.TRunning:
		_ = m.Reply(wire.Running{Busy: 1, Name: "greedy", AgeUs: 5})
	case wire.TActorStart:
		var a wire.ActorStart
		if err := m.Decode(&a); err != nil {
			os.Exit(1)
		}
		r := wire.ActorReady{ActorID: a.ActorID, Incarnation: a.Incarnation}
		switch string(a.Spec) {
		case "raises":
			r.Message = "ValueError: no"
		case "dies":
			os.Exit(9)
		}
		_ = w.peer.Push(wire.TActorReady, r)
	case wire.TActorStop:
		_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: "released"})
		time.AfterFunc(10*time.Millisecond, func() { os.Exit(0) })
	}
}

func (w *played) serve(c net.Conn) {
	sc := bufio.NewScanner(c)
	for sc.Scan() {
		verb, rest, _ := strings.Cut(sc.Text(), " ")
		answer := "ok"
		switch verb {
		case "print":
			fmt.Println(rest)
		case "eprint":
			fmt.Fprintln(os.Stderr, rest)
		case "exit":
			n, _ := strconv.Atoi(rest)
			os.Exit(n)
		case "leave":
			_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: rest})
			time.Sleep(10 * time.Millisecond) // the write itself
			os.Exit(0)
		case "block":
			_ = w.peer.Push(wire.TBlocked, nil)
		case "unblock":
			_ = w.peer.Push(wire.TUnblocked, nil)
		case "env":
			answer = os.Getenv(rest)
		case "forgot":
			if name := w.forgotten.Load(); name != nil {
				answer = *name
			}
		case "child":
			pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{
				Env: os.Environ(), Files: []uintptr{0, 1, 2},
			})
			if answer = strconv.Itoa(pid); err != nil {
				answer = err.Error()
			}
		}
		fmt.Fprintln(c, answer)
	}
}
