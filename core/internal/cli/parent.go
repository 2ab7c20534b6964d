package cli

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// parentPipe is the socket to whoever started the daemon; a nil file stands
// for none.
type parentPipe struct{ f *os.File }

func openParent(fd int) *parentPipe {
	if fd < 0 {
		return &parentPipe{}
	}
	unix.CloseOnExec(fd)
	_ = unix.SetNonblock(fd, true)
	return &parentPipe{os.NewFile(uintptr(fd), "parent")}
}

// sayWhy says why the process cannot start; nil: nothing.
func (p *parentPipe) sayWhy(err error) {
	var wrong *badConfig
	switch {
	case errors.As(err, &wrong):
		p.say("invalid: " + oneLine(err))
	case err != nil:
		p.say("error: " + oneLine(err))
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// say writes one line.
func (p *parentPipe) say(line string) {
	if p.f != nil {
		_, _ = p.f.WriteString(line + "\n")
	}
}

// ready says that the daemon listens, and sends a descriptor of the store's memory with
// it: a driver closes that last, so that the daemon's end need not wait until the
// system has taken the memory back.
func (p *parentPipe) ready(d *daemon.Daemon) {
	if p.f == nil {
		return
	}
	raw, err := p.f.SyscallConn()
	if err == nil {
		var sent error
		err = raw.Write(func(fd uintptr) bool {
			sent = d.SendStore(int(fd), []byte("ready\n"))
			return !errors.Is(sent, unix.EAGAIN)
		})
		err = errors.Join(err, sent)
	}
	if err != nil { // the parent does without
		p.say("ready")
	}
}

func (p *parentPipe) close() {
	if p.f != nil {
		p.f.Close()
		p.f = nil
	}
}

// gone is closed when the parent has closed its end or has ended.
func (p *parentPipe) gone(pid int) <-chan struct{} {
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
