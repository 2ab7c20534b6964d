package play

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// zygoteSocket is the descriptor of a zygote's connection to its daemon.
const zygoteSocket = 3

// zygote forks workers as docs/protocol.md says, until its daemon has ended.
// The variable FAKE_ZYGOTE=broken makes it end at once, as an interpreter does
// that lacks a module; FAKE_ZYGOTE=refuses makes each fork fail.
func zygote() int {
	unix.CloseOnExec(zygoteSocket)
	mode := os.Getenv("FAKE_ZYGOTE")
	if mode == "broken" {
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'wrong'")
		return 1
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go reap(children)
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(16))
	for {
		n, on, _, _, err := unix.Recvmsg(zygoteSocket, buf, oob, unix.MSG_CMSG_CLOEXEC)
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
		switch {
		case p.Op == "setup":
			if mode == "notes" {
				toDaemon(map[string]any{"op": "note", "text": "a note of the zygote"}, -1)
			}
			toDaemon(map[string]any{"op": "ready"}, -1)
		case p.Op == "fork" && mode == "refuses":
			toDaemon(map[string]any{"op": "failed", "token": p.Token, "error": "no memory to fork"}, -1)
		case p.Op == "fork":
			fork(p.Sock, p.Token, fds)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

// toDaemon sends one packet, with a descriptor unless that is negative.
func toDaemon(v map[string]any, fd int) {
	b, _ := json.Marshal(v)
	var oob []byte
	if fd >= 0 {
		oob = unix.UnixRights(fd)
	}
	_ = unix.Sendmsg(zygoteSocket, b, oob, nil, 0)
}

// fork starts a worker whose output goes to the two descriptors.
func fork(sock, token string, fds []int) {
	pidfd := -1
	pid, err := syscall.ForkExec("/proc/self/exe", []string{workerName, sock, token}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, uintptr(fds[0]), uintptr(fds[1])},
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		toDaemon(map[string]any{"op": "failed", "token": token, "error": err.Error()}, -1)
		return
	}
	toDaemon(map[string]any{"op": "forked", "token": token, "pid": pid}, pidfd)
	unix.Close(pidfd)
}

// reap tells the daemon how each worker ended.
func reap(children <-chan os.Signal) {
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
			toDaemon(map[string]any{"op": "exit", "pid": pid, "status": status}, -1)
		}
	}
}
