package transport

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// A link is opened as soon as somebody has something to say to its process. An attempt to connect may fail although
// that process lives: this process may lack a descriptor, and the other one may be stopped or busy. Taking such a
// process for dead would lose what it holds or owns, so the link tries again, with growing pauses, until it is open,
// the process has ended, the session ends, or nobody has anything to say any more.

const (
	tryAgain     = 10 * time.Millisecond // the pause after the first attempt; each pause is twice as long as the one before,
	tryAgainMost = time.Second           // up to this
	tellAfter    = time.Second           // the host is told when a link has been trying for so long
)

var (
	// errLinksClosed is the error for requests that wait for a link when the session ends.
	errLinksClosed = errors.New("the session has ended")
	// errUnused ends the attempts of a link that has nothing to say.
	errUnused = errors.New("nobody has anything to say to the process")
)

// open connects the link and does its jobs.
func (l *Link) open() {
	p, err := l.connect()
	if errors.Is(err, errUnused) {
		return
	}
	err = l.opened(p, err)
	l.serve()
	if err != nil && !errors.Is(err, errLinksClosed) {
		l.lost()
	}
}

// connect tries until there is a connection. It returns the reason when there will be none.
func (l *Link) connect() (*wire.Peer, error) {
	a, began := l.all, time.Now()
	for pause := tryAgain; ; {
		p, err := a.dialer.DialControl(l.addr, a.introduction(), refuse, func(error) { l.lost() })
		if err == nil || Ended(err) {
			return p, err
		}
		if err = l.failed(err, time.Since(began)); err != nil {
			return nil, err
		}
		select {
		case <-a.over:
			return nil, errLinksClosed
		case <-l.now:
		case <-time.After(pause):
			pause = min(2*pause, tryAgainMost)
		}
	}
}

// introduction is the hello of a link that is about to be opened.
func (a *Links) introduction() wire.Hello {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hello()
}

// failed is told that an attempt has failed, though the process may live, when the link had been trying for so long.
// It returns an error if no other attempt is to follow.
func (l *Link) failed(why error, tried time.Duration) error {
	impatient, err := l.judge(why, tried)
	for _, j := range impatient {
		j.do(nil, why)
	}
	return err
}

// judge takes out the jobs that do not wait for another attempt, and decides whether one follows.
func (l *Link) judge(why error, tried time.Duration) (impatient []job, err error) {
	a := l.all
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, errLinksClosed
	}
	select {
	case <-l.now: // it was this attempt that was wanted
	default:
	}
	var rest []job
	for _, j := range l.jobs {
		if j.once {
			impatient = append(impatient, j)
		} else {
			rest = append(rest, j)
		}
	}
	l.jobs = rest
	if len(rest) == 0 {
		l.busy = false
		a.forget(l)
		return impatient, errUnused
	}
	if tried >= tellAfter && !a.told {
		a.told = true
		a.host.Unconnected(l.addr, why)
	}
	return impatient, nil
}

// opened takes the connection of a link, or why there is none, and returns the latter.
func (l *Link) opened(p *wire.Peer, err error) error {
	a := l.all
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
	case a.closed: // nobody would close it
		go p.Close()
		p, err = nil, errLinksClosed
	default:
		a.told = false
		l.fd = Descriptor(p.Conn())
		a.watch.opened(l.fd)
		p.Start()
	}
	l.peer, l.err = p, err
	return err
}
