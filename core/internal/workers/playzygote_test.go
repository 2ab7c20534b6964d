package workers

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain plays the interpreter of a zygote when a test has started this
// binary as one, and runs the tests otherwise.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-m" {
		os.Exit(playZygote(os.Getenv(playMode)))
	}
	os.Exit(m.Run())
}

// playMode is the variable that says how the played interpreter behaves.
const playMode = "PLAYED_ZYGOTE"

// zygoteSocket is the descriptor of a zygote's connection to its daemon.
const zygoteSocket = 3

// began is what a played interpreter tells in its first note.
type began struct {
	Args, Env         []string
	Cwd, Stdin, Setup string
	Pid, Session      int
}

// playZygote serves orders until its socket ends. The token of an order says what becomes of it:
//
//	refuse TEXT     the order fails with the text
//	send JSON       the packet is sent, without descriptors
//	with N JSON     the packet is sent with N descriptors
//	say TEXT        the interpreter writes the text to standard error
//	die             the interpreter ends with status 3
//	anything else   is run by a shell, as a worker with the order's two outputs
func playZygote(mode string) int {
	if mode == "deaf" { // reads no order and lives on
		sendPacket(map[string]any{"op": "ready"})
		for {
			_ = unix.Pause()
		}
	}
	first := began{Args: os.Args, Env: os.Environ(), Pid: os.Getpid()}
	first.Cwd, _ = os.Getwd()
	first.Stdin, _ = os.Readlink("/proc/self/fd/0")
	first.Session, _ = unix.Getsid(0)
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(16))
	for {
		n, on, _, _, err := unix.Recvmsg(zygoteSocket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			fmt.Println("the socket ended")
			return 0
		}
		fds := passedFDs(oob[:on])
		var p zygotePacket
		if err := json.Unmarshal(buf[:n], &p); err != nil {
			return 2
		}
		switch p.Op {
		case "setup":
			f := os.NewFile(uintptr(fds[0]), "setup")
			b := make([]byte, 64<<10)
			n, _ := f.Read(b)
			first.Setup = strings.ReplaceAll(string(b[:n]), strings.Repeat("x", maxExecVar), "as large as a variable that exec does not pass")
			fmt.Println("set up")
			text, _ := json.Marshal(first)
			sendPacket(map[string]any{"op": "note", "text": string(text)})
			sendPacket(map[string]any{"op": "ready"})
		case "end":
			fmt.Println("told to end")
			return 0
		case "fork":
			playOrder(p, fds)
		}
		closeAll(fds)
	}
}

// playOrder does what the token of an order says.
func playOrder(p zygotePacket, fds []int) {
	verb, rest, _ := strings.Cut(p.Token, " ")
	switch verb {
	case "refuse":
		sendPacket(map[string]any{"op": "failed", "token": p.Token, "error": rest})
	case "send":
		_ = unix.Sendmsg(zygoteSocket, []byte(rest), nil, nil, 0)
	case "with":
		count, body, _ := strings.Cut(rest, " ")
		_ = unix.Sendmsg(zygoteSocket, []byte(body), unix.UnixRights(slices.Repeat([]int{fds[0]}, int(count[0]-'0'))...), nil, 0)
	case "say":
		fmt.Fprintln(os.Stderr, rest)
	case "die":
		os.Exit(3)
	default:
		playWorker(p, fds)
	}
}

// playWorker runs the token in a shell, whose first argument is the socket that
// the worker is to connect to, and tells how the process began and ended.
func playWorker(p zygotePacket, fds []int) {
	pidfd := -1
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", p.Token, p.Sock}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, uintptr(fds[0]), uintptr(fds[1])},
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		sendPacket(map[string]any{"op": "failed", "token": p.Token, "error": err.Error()})
		return
	}
	sendPacket(map[string]any{"op": "forked", "token": p.Token, "pid": pid}, pidfd)
	unix.Close(pidfd)
	go func() {
		var ws unix.WaitStatus
		for {
			if _, err := unix.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
				break
			}
		}
		sendPacket(map[string]any{"op": "exit", "pid": pid, "status": statusCode(ws)})
	}()
}

// sendPacket sends one packet to the daemon.
func sendPacket(v map[string]any, fds ...int) {
	b, _ := json.Marshal(v)
	_ = unix.Sendmsg(zygoteSocket, b, unix.UnixRights(fds...), nil, 0)
}
