package transport

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// Options of a Poller.
type Options struct {
	// Descriptor is told of each descriptor that is opened, and before one is
	// closed; nil: nobody wants to know.
	Descriptor func(fd int, open bool)
	// Lend gives the background poller a thread that is not Go's: it calls Turn
	// until that says ModeEnd. Nil, or the answer false: there is none.
	Lend func(*Background) bool
	// Quiet is how long the background poller goes on napping when it was not
	// needed; 0: a default.
	Quiet time.Duration
}

// New returns a poller for the process that host is, guarded by mu. The caller
// has to call StopBackground and Close. Mu need not be held.
func New(mu *sync.Mutex, host Host, o Options) (*Poller, error) {
	p := &Poller{host: host, sockets: sockets{
		mu: mu, told: o.Descriptor, conns: map[int]*Conn{},
		reading: reading{bell: -1, nobody: wait.New(), left: sync.NewCond(mu)},
		sleeper: sleeper{epoll: -1, spinner: spinner{skips: spinFirst}},
	}}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make the poller of task sockets: %w", err)
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, p.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.bell)})
	}
	if err == nil {
		err = p.startBackground(o)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("make the poller of task sockets: %w", err)
	}
	p.Opened(p.epoll)
	p.Opened(p.bell)
	return p, nil
}

// startBackground begins the background poller in ModeWait. The mutex need not be held.
func (p *Poller) startBackground(o Options) error {
	b := &Background{Epoll: p.epoll, p: p, quiet: o.Quiet, Alarm: Alarm{Armed: new(uint32), gone: make(chan struct{})}}
	if b.quiet == 0 {
		b.quiet = quietFor
	}
	if o.Lend != nil {
		bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return err
		}
		if b.Bell = bell; o.Lend(b) {
			p.Opened(bell)
			p.alarm = &b.Alarm
			return nil
		}
		unix.Close(bell)
	}
	b.Bell = p.bell // which is among what it watches
	b.timer = time.AfterFunc(time.Hour, b.run)
	b.timer.Stop()
	p.alarm = &b.Alarm
	return nil
}

// StopBackground ends the background poller; the sockets may be closed then. The
// mutex must not be held.
func (p *Poller) StopBackground() {
	a := p.endAlarm()
	if a == nil {
		return
	}
	<-a.gone
	if a.timer == nil {
		p.Closing(a.Bell)
		unix.Close(a.Bell)
	}
}

// endAlarm tells the background poller to end, and returns its alarm; nil: there is none.
func (p *Poller) endAlarm() *Alarm {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.alarm
	p.alarm = nil
	if a != nil {
		a.end()
	}
	return a
}
