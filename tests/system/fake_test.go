package system

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// The test binary plays the Python side too: run as `… -m
// eagleray._private.zygote` it is a zygote whose workers are this binary again.

// playZygote serves descriptor 3 as docs/protocol.md says.
func playZygote() int {
	conn := os.NewFile(3, "daemon")
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
		_ = unix.Sendmsg(int(conn.Fd()), b, oob, nil, 0)
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

// playWorker says hello and then does what the lines tell that come over its
// own socket.
func playWorker(sock, token string) int {
	switch os.Getenv("FAKE_WORKER") {
	case "dies":
		fmt.Fprintln(os.Stderr, "ImportError: no numpy here")
		return 7
	case "hangs":
		time.Sleep(time.Hour)
	}
	u, r, fd, err := wire.Dial(sock, wire.Hello{Version: wire.Version, Role: wire.RoleWorker, Pid: os.Getpid(), Token: token})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	l, err := net.Listen("unix", r.Addr)
	if err != nil {
		return 1
	}
	w := &fakeWorker{arena: fd}
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

type fakeWorker struct {
	peer  *wire.Peer
	actor wire.ActorStart

	arena     int
	scribbled int // descriptors
}

func (w *fakeWorker) handle(m *wire.Message) {
	switch m.Type {
	case wire.TExit:
		os.Exit(0)
	case wire.TActorStart:
		if err := m.Decode(&w.actor); err != nil {
			os.Exit(1)
		}
		r := wire.ActorReady{ActorID: w.actor.ActorID, Incarnation: w.actor.Incarnation}
		switch string(w.actor.Spec) {
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
		}
		_ = w.peer.Push(wire.TActorReady, r)
	case wire.TActorStop:
		_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: "released"})
		time.AfterFunc(20*time.Millisecond, func() { os.Exit(0) })
	}
}

// serve obeys: print TEXT, eprint TEXT, exit N, leave (announced), block,
// unblock, env NAME, child (starts a process of its own), pid.
func (w *fakeWorker) serve(c net.Conn) {
	sc := bufio.NewScanner(c)
	for sc.Scan() {
		verb, rest, _ := strings.Cut(sc.Text(), " ")
		answer := "ok"
		switch verb {
		case "print":
			fmt.Print(strings.ReplaceAll(rest, `\n`, "\n"))
		case "eprint":
			fmt.Fprint(os.Stderr, strings.ReplaceAll(rest, `\n`, "\n"))
		case "flood":
			n, _ := strconv.Atoi(rest)
			line := strings.Repeat("x", 999) + "\n"
			for ; n > 0; n -= len(line) {
				fmt.Print(line)
			}
		case "exit":
			n, _ := strconv.Atoi(rest)
			os.Exit(n)
		case "leave":
			_ = w.peer.Push(wire.TWorkerExit, wire.WorkerExit{Reason: rest})
			time.Sleep(10 * time.Millisecond)
			os.Exit(0)
		case "block":
			_ = w.peer.Push(wire.TBlocked, nil)
		case "unblock":
			_ = w.peer.Push(wire.TUnblocked, nil)
		case "env":
			answer = os.Getenv(rest)
		case "child":
			pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: rest == "setsid"}})
			answer = fmt.Sprint(pid, err)
		case "pid":
			answer = fmt.Sprint(os.Getpid())
		case "call", "push":
			answer = w.says(verb, rest)
		case "scribble":
			answer = w.scribble()
		case "chatter":
			n, _ := strconv.ParseUint(rest, 10, 64)
			answer = w.chatter(n)
		case "deaf":
			w.peer.Close()
		}
		fmt.Fprintln(c, answer)
	}
}
