package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// trying is a Dialer that a test tells what each attempt gives. All its methods work in a bubble, whose time the test
// moves. The links' mutex guards it.
type trying struct {
	pipes
	mu       *sync.Mutex
	began    time.Time
	attempts []time.Duration // when each was made
	fails    error           // why attempts fail; nil: they do not
}

func (d *trying) DialControl(addr string, h wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts = append(d.attempts, time.Since(d.began))
	if d.fails != nil {
		return nil, d.fails
	}
	return d.pipes.DialControl(addr, h, handle, closed)
}

// heard is what a link's job was told.
type heard struct {
	after time.Duration
	err   error
}

// attempting is links whose attempts to connect fail.
type attempting struct {
	*Links
	host   *linkHost
	dialer *trying
	told   []heard // guarded by the links' mutex
}

func newAttempting(t *testing.T, fails error) *attempting {
	t.Helper()
	x := &attempting{host: &linkHost{lost: make(chan string, 9)}}
	x.dialer = &trying{pipes: pipes{other: map[string]chan net.Conn{"b": make(chan net.Conn, 9), "c": make(chan net.Conn, 9)}}, mu: new(sync.Mutex), began: time.Now(), fails: fails}
	x.Links = NewLinks(new(sync.Mutex), x.host, x.dialer, func() wire.Hello { return wire.Hello{} }, nil)
	t.Cleanup(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.Close()
	})
	return x
}

// tell notes what a job is told.
func (x *attempting) tell(_ *wire.Peer, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = append(x.told, heard{time.Since(x.dialer.began), err})
}

// asks has a link for which the job is.
func (x *attempting) asks(addr string, ask func(*Link)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ask(x.To(addr))
}

// fail sets why attempts fail from now on.
func (x *attempting) fail(err error) {
	x.dialer.mu.Lock()
	defer x.dialer.mu.Unlock()
	x.dialer.fails = err
}

// waiting is a job that waits until there is a connection.
func waiting(l *attempting) func(*Link) { return func(k *Link) { k.Do(l.tell) } }

// A process that lives and cannot be connected to now is tried again, with pauses that grow. What is to be said
// waits, and is said in order when there is a connection.
func TestOpen_ProcessCannotBeConnectedTo_IsTriedAgainUntilItCan(t *testing.T) {
	for _, why := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EAGAIN, unix.EPIPE, unix.ECONNRESET, os.ErrDeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			x := newAttempting(t, fmt.Errorf("connect: %w", why))
			x.asks("b", func(l *Link) {
				l.Batch(wire.TRefBorrow, []byte("1"))
				l.Do(x.tell)
				l.Batch(wire.TRefReturn, []byte("1"))
			})
			time.Sleep(2500 * time.Millisecond)
			synctest.Wait()
			x.mu.Lock()
			if len(x.told) != 0 || len(x.host.said) != 0 || len(x.host.lost) != 0 || x.Quiet() || x.Find("b") == nil {
				t.Errorf("%v: told %v, said %v, %d lost, quiet %v", why, x.told, x.host.said, len(x.host.lost), x.Quiet())
			}
			x.mu.Unlock()
			x.fail(nil)
			time.Sleep(tryAgainMost)
			synctest.Wait()
			var want []time.Duration
			for at, pause := time.Duration(0), tryAgain; at < 3500*time.Millisecond; pause = min(2*pause, tryAgainMost) {
				want = append(want, at)
				at += pause
			}
			if !slices.Equal(x.dialer.attempts, want) {
				t.Errorf("%v: attempts at %v, want %v", why, x.dialer.attempts, want)
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.told) != 1 || x.told[0].err != nil || len(x.host.said) != 2 || x.host.said[0].t != wire.TRefBorrow || !x.Quiet() {
				t.Errorf("%v: when it is open, told %v, said %v, quiet %v", why, x.told, x.host.said, x.Quiet())
			}
		})
	}
}

// When the process ends while the link tries, those who wait are told, and the link is lost.
func TestOpen_ProcessEndsWhileItIsTried_IsLost(t *testing.T) {
	for _, why := range []error{unix.ECONNREFUSED, unix.ENOENT} {
		synctest.Test(t, func(t *testing.T) {
			x := newAttempting(t, unix.EAGAIN)
			x.asks("b", waiting(x))
			time.Sleep(100 * time.Millisecond)
			x.fail(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", why.(syscall.Errno))})
			time.Sleep(tryAgainMost)
			synctest.Wait()
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.told) != 1 || !errors.Is(x.told[0].err, why) || len(x.host.lost) != 1 || x.Len() != 0 {
				t.Errorf("told %v, %d lost, %d links", x.told, len(x.host.lost), x.Len())
			}
		})
	}
}

// The host hears of a process that cannot be connected to after a second, and of another one only after a link has been opened.
func TestOpen_TriedForASecond_HostIsToldOnceUntilALinkIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newAttempting(t, unix.EMFILE)
		hears := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			x.mu.Lock()
			defer x.mu.Unlock()
			if !slices.Equal(x.host.late, want) {
				t.Errorf("%s: the host has heard %q, want %q", when, x.host.late, want)
			}
		}
		x.asks("b", waiting(x))
		time.Sleep(tellAfter - time.Millisecond)
		hears("before a second has passed")
		x.asks("c", waiting(x))
		time.Sleep(5 * time.Second)
		hears("later", "b: too many open files")
		x.fail(nil)
		time.Sleep(2 * time.Second)
		x.fail(unix.EAGAIN)
		x.asks("d", waiting(x))
		time.Sleep(5 * time.Second)
		hears("after two links were opened", "b: too many open files", "d: resource temporarily unavailable")
	})
}

// The end of the session ends the attempts at once. Those who wait are told, and nobody is said to have ended.
func TestEnd_WhileALinkIsTried_JobsAreToldAtOnce(t *testing.T) {
	for what, end := range map[string]func(*Links){"End": (*Links).End, "Close": (*Links).Close, "both": func(a *Links) { a.End(); a.Close() }} {
		synctest.Test(t, func(t *testing.T) {
			x := newAttempting(t, unix.EMFILE)
			x.asks("b", func(l *Link) { l.Do(x.tell); l.Batch(wire.TRefBorrow, []byte("1")) })
			time.Sleep(5 * time.Second) // a second before the next attempt
			synctest.Wait()
			at, n := time.Since(x.dialer.began), len(x.dialer.attempts)
			x.mu.Lock()
			end(x.Links)
			x.mu.Unlock()
			synctest.Wait()
			x.mu.Lock()
			if len(x.told) != 1 || x.told[0] != (heard{at, errLinksClosed}) || len(x.host.said) != 1 || x.host.said[0].err != errLinksClosed || len(x.host.lost) != 0 {
				t.Errorf("%s: told %v, said %v, %d lost", what, x.told, x.host.said, len(x.host.lost))
			}
			x.mu.Unlock()
			x.asks("c", waiting(x))
			synctest.Wait()
			x.mu.Lock()
			if len(x.told) != 2 || x.told[1] != (heard{at, errLinksClosed}) {
				t.Errorf("%s: who asks after it is told %v", what, x.told)
			}
			x.mu.Unlock()
			time.Sleep(time.Minute)
			if len(x.dialer.attempts) != n+1 {
				t.Errorf("%s: %d attempts follow", what, len(x.dialer.attempts)-n)
			}
		})
	}
}

// A link that is tried does not hold up the process that hands its links over, and it says nothing any more.
func TestDetach_WhileALinkIsTried_ReturnsAtOnceAndSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newAttempting(t, unix.EMFILE)
		x.asks("b", func(l *Link) { l.Do(x.tell); l.Batch(wire.TRefReturn, []byte("1")) })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		at, n := time.Now(), len(x.dialer.attempts)
		x.mu.Lock()
		if list := x.Detach(); len(list) != 0 || !time.Now().Equal(at) {
			t.Errorf("detached %+v after %v", list, time.Since(at))
		}
		x.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(x.told) != 0 || len(x.host.said) != 0 || len(x.host.lost) != 0 || len(x.dialer.attempts) != n {
			t.Errorf("told %v, said %v, %d lost, %d attempts follow", x.told, x.host.said, len(x.host.lost), len(x.dialer.attempts)-n)
		}
	})
}

// Who sends a message again by itself hears of each attempt that fails. A link that nobody else needs is forgotten.
func TestAttempt_Fails_IsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newAttempting(t, unix.EMFILE)
		x.asks("b", func(l *Link) { l.Attempt(x.tell) })
		synctest.Wait()
		x.mu.Lock()
		if len(x.told) != 1 || x.told[0] != (heard{0, unix.EMFILE}) || x.Len() != 0 || len(x.host.lost) != 0 {
			t.Errorf("told %v, %d links, %d lost", x.told, x.Len(), len(x.host.lost))
		}
		x.mu.Unlock()
		time.Sleep(time.Minute)
		if len(x.dialer.attempts) != 1 {
			t.Errorf("%d attempts are made for nobody", len(x.dialer.attempts)-1)
		}
		x.fail(nil)
		x.asks("b", func(l *Link) { l.Attempt(x.tell) })
		synctest.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(x.told) != 2 || x.told[1].err != nil {
			t.Errorf("told %v", x.told)
		}
	})
}

// An attempt for one message is made at once, also on a link that pauses because others wait there, and it changes
// nothing for these.
func TestAttempt_OnALinkThatPauses_IsMadeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newAttempting(t, unix.EMFILE)
		x.asks("b", waiting(x))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		at, n := time.Since(x.dialer.began), len(x.dialer.attempts)
		for range 3 {
			x.asks("b", func(l *Link) { l.Attempt(x.tell) })
		}
		synctest.Wait()
		x.mu.Lock()
		if want := (heard{at, unix.EMFILE}); len(x.dialer.attempts)-n < 1 || len(x.told) != 3 || x.told[0] != want || x.told[2] != want || x.Find("b") == nil {
			t.Errorf("told %v after %d attempts", x.told, len(x.dialer.attempts)-n)
		}
		x.mu.Unlock()
		n = len(x.dialer.attempts)
		time.Sleep(tryAgainMost - time.Millisecond)
		synctest.Wait()
		if len(x.dialer.attempts) != n {
			t.Error("the pause behind that attempt is shorter than the others")
		}
		x.fail(nil)
		time.Sleep(tryAgainMost)
		synctest.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(x.told) != 4 || x.told[3].err != nil {
			t.Errorf("who waited for a connection is told %v", x.told)
		}
	})
}

func TestEnded_OnlyWhenNobodyListens(t *testing.T) {
	for err, want := range map[error]bool{
		unix.ECONNREFUSED: true, unix.ENOENT: true, unix.EMFILE: false, unix.ENFILE: false, unix.ENOBUFS: false, unix.ENOMEM: false,
		unix.EAGAIN: false, unix.ETIMEDOUT: false, unix.EPIPE: false, unix.ECONNRESET: false, os.ErrDeadlineExceeded: false, nil: false,
	} {
		if got := Ended(err); got != want {
			t.Errorf("%v: ended %v", err, got)
		}
		if err != nil && Ended(fmt.Errorf("connect to p: %w", err)) != want {
			t.Errorf("%v, wrapped: ended %v", err, !want)
		}
	}
}

// The errors of real attempts: a process that has ended is told from one that takes no connection.
func TestDialControl_ProcessIsStoppedOrHasEnded_ErrorsTellThemApart(t *testing.T) {
	at, l := listen(t)
	at.dialer.Timeout = 20 * time.Millisecond
	rc, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) { err = unix.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	dials := func() error {
		p, err := at.dialer.DialControl(at.addr, whoever(wire.RoleControl), refuse, func(error) {})
		if err == nil {
			t.Cleanup(func() { p.Conn().Close() })
		}
		return err
	}
	for began := time.Now(); err == nil; err = dials() {
		if time.Since(began) > patience {
			t.Fatal("every connection was taken")
		}
	}
	if Ended(err) {
		t.Errorf("a process that takes no connection is said to have ended: %v", err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := dials(); !errors.Is(err, unix.ECONNREFUSED) || !Ended(err) {
		t.Errorf("a process that was killed: %v", err)
	}
	if err := os.Remove(at.path); err != nil {
		t.Fatal(err)
	}
	if err := dials(); !errors.Is(err, unix.ENOENT) || !Ended(err) {
		t.Errorf("a process that has ended: %v", err)
	}
}

// A process without a free descriptor still finds out that another one has ended: the daemon has removed its socket.
func TestUnlessGone_NoDescriptor_TheSocketsFileTells(t *testing.T) {
	at, _ := listen(t)
	if err := unlessGone(at.path, unix.EMFILE); err != unix.EMFILE {
		t.Errorf("its socket is there: %v", err)
	}
	if err := unlessGone(at.path+".none", unix.EMFILE); !Ended(err) || !errors.Is(err, unix.EMFILE) {
		t.Errorf("its socket is gone: %v", err)
	}
	if err := unlessGone(at.path, unix.ECONNREFUSED); err != unix.ECONNREFUSED {
		t.Errorf("nobody listens at its socket: %v", err)
	}
}
