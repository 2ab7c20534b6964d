package process

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/workers"
)

// Parent is the socket to whoever started this process; a nil file stands
// for none.
type Parent struct{ f *os.File }

// OpenParent takes the descriptor of that socket, which a flag names; a negative one stands for none.
func OpenParent(fd int) *Parent {
	if fd < 0 {
		return &Parent{}
	}
	unix.CloseOnExec(fd)
	_ = unix.SetNonblock(fd, true)
	return &Parent{os.NewFile(uintptr(fd), "parent")}
}

// SayWhy says why the process cannot start; nil: nothing.
func (p *Parent) SayWhy(err error) {
	var wrong *BadConfig
	switch {
	case errors.As(err, &wrong):
		p.Say("invalid: " + oneLine(err))
	case err != nil:
		p.Say("error: " + oneLine(err))
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Say writes one line.
func (p *Parent) Say(line string) {
	if p.f != nil {
		_, _ = p.f.WriteString(line + "\n")
	}
}

// Ready says that a daemon listens, and sends a descriptor of the store's memory with
// it: a driver closes that last, so that the daemon's end need not wait until the
// system has taken the memory back. sendStore sends the descriptor and a text through a socket.
func (p *Parent) Ready(sendStore func(socket int, text []byte) error) {
	if p.f == nil {
		return
	}
	raw, err := p.f.SyscallConn()
	if err == nil {
		var sent error
		err = raw.Write(func(fd uintptr) bool {
			sent = sendStore(int(fd), []byte("ready\n"))
			return !errors.Is(sent, unix.EAGAIN)
		})
		err = errors.Join(err, sent)
	}
	if err != nil { // the parent does without
		p.Say("ready")
	}
}

// Close closes the socket. What is said afterwards goes nowhere.
func (p *Parent) Close() {
	if p.f != nil {
		p.f.Close()
		p.f = nil
	}
}

// Gone is closed when the parent has closed its end or has ended.
func (p *Parent) Gone(pid int) <-chan struct{} {
	ch := make(chan struct{}, 2)
	if p.f != nil {
		go func() {
			var b [64]byte
			for {
				if _, err := p.f.Read(b[:]); err != nil && !errors.Is(err, unix.EINTR) {
					ch <- struct{}{}
					return
				}
			}
		}()
	}
	if pid > 0 {
		if _, err := workers.Watch(pid, func(*workers.Process) { ch <- struct{}{} }); err != nil {
			ch <- struct{}{}
		}
	}
	return ch
}
