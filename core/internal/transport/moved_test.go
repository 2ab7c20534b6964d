package transport

import (
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// openDescriptors keeps which descriptors it was told of, and complains about
// one that is told to open or to close twice.
type openDescriptors struct {
	t    *testing.T
	mu   sync.Mutex
	open map[int]bool
}

func (o *openDescriptors) told(fd int, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[fd] == open {
		o.t.Errorf("descriptor %d: told %v twice", fd, open)
	}
	o.open[fd] = open
}

func (o *openDescriptors) count() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, is := range o.open {
		if is {
			n++
		}
	}
	return n
}

// stored is a Dialer that gives one end of a socket pair each time.
type stored struct {
	t      *testing.T
	others chan *net.UnixConn
}

func (d stored) Dial(string, wire.Hello, int) (int, error) { return -1, errNobody }

func (d stored) DialControl(_ string, _ wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	here, there := ends(d.t)
	d.others <- there
	return wire.NewPeer(here, handle, closed), nil
}

// socketLinks returns links whose connections are sockets, and the other ends.
func socketLinks(t *testing.T) (a *Links, h *linkHost, others chan *net.UnixConn, open *openDescriptors) {
	t.Helper()
	h, others = &linkHost{lost: make(chan string, 9)}, make(chan *net.UnixConn, 9)
	open = &openDescriptors{t: t, open: map[int]bool{}}
	a = NewLinks(new(sync.Mutex), h, stored{t, others}, func() wire.Hello { return wire.Hello{} }, open.told)
	t.Cleanup(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.Close()
	})
	return a, h, others, open
}

// answering is the other end of a link, which answers all it is asked.
func answering(t *testing.T, u net.Conn) *wire.Peer {
	t.Helper()
	p := wire.NewPeer(u, func(m *wire.Message) { _ = m.Reply(nil) }, func(error) {})
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// asks asks over a link, and returns how that went.
func asks(t *testing.T, a *Links, addr string) error {
	t.Helper()
	done := make(chan error, 1)
	a.mu.Lock()
	a.To(addr).Do(func(p *wire.Peer, err error) {
		if err == nil {
			err = p.Call(t.Context(), wire.TRegistered, nil, nil)
		}
		done <- err
	})
	a.mu.Unlock()
	return within(t, done, "the link's turn")
}

func TestResume_AnotherProcessGoesOnWithALink(t *testing.T) {
	before, lost, others, _ := socketLinks(t)
	before.mu.Lock()
	before.To("b")
	before.mu.Unlock()
	answering(t, within(t, others, "the connection"))
	if err := asks(t, before, "b"); err != nil {
		t.Fatal(err)
	}
	quiet(t, before)
	before.mu.Lock()
	list := before.Detach()
	before.mu.Unlock()
	if len(list) != 1 {
		t.Fatalf("detached: %+v", list)
	}
	after, h, _, open := socketLinks(t)
	after.mu.Lock()
	l := after.Resume(handedOver(t, list[0].Conn), "b", list[0].State)
	if after.Find("b") != l || after.To("b") != l || l.fd < 0 || !open.open[l.fd] {
		t.Error("the link is not among the links, or nobody was told of its descriptor")
	}
	after.Start()
	after.mu.Unlock()
	if err := asks(t, after, "b"); err != nil {
		t.Errorf("the other end does not answer: %v", err)
	}
	after.mu.Lock()
	after.CloseConnections()
	after.mu.Unlock()
	if addr := within(t, h.lost, "the link is lost"); addr != "b" || open.count() != 0 {
		t.Errorf("%q is lost, %d descriptors are open", addr, open.count())
	}
	if len(lost.lost) > 0 {
		t.Error("the process that gave the link away is told of its end")
	}
}

// Start comes before links are open whose processes are still dialled.
func TestStart_ALinkThatIsBeingOpened_IsLeftAlone(t *testing.T) {
	gate := make(chan struct{})
	a, _, there := newLinks(t, gate)
	a.mu.Lock()
	a.To("b")
	a.Start()
	a.CloseConnections()
	if a.Quiet() {
		t.Error("a link that is being opened is said to have said all")
	}
	if list := a.Detach(); len(list) != 0 {
		t.Errorf("a link that is being opened is detached: %+v", list)
	}
	a.mu.Unlock()
	close(gate)
	<-there
	quiet(t, a)
}

// A message that is being written when a link is to stop is written to its end,
// and what is asked for after it stays for the process that goes on.
func TestDetach_WhileSomethingIsSaid_WaitsForIt(t *testing.T) {
	a, h, others, _ := socketLinks(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	a.mu.Lock()
	l := a.To("b")
	l.Do(func(*wire.Peer, error) {
		close(begun)
		<-goOn
	})
	a.mu.Unlock()
	within(t, others, "the connection")
	within(t, begun, "the link speaks")
	got := make(chan []Detached, 1)
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		got <- a.Detach()
	}()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Microsecond) {
		a.mu.Lock()
		stopped := l.stopped
		a.mu.Unlock()
		if stopped {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the link is not to stop")
		}
	}
	a.mu.Lock()
	l.Batch(wire.TRefReturn, []byte("1"))
	l.Do(func(*wire.Peer, error) { t.Error("a link that has stopped speaks") })
	l.Batch(wire.TRefReturn, []byte("2"))
	l.Batch(wire.TRefBorrow, []byte("3"))
	a.mu.Unlock()
	select {
	case <-got:
		t.Fatal("a link is detached in the middle of a message")
	default:
	}
	close(goOn)
	list := within(t, got, "the link is detached")
	if len(list) != 1 || len(list[0].Unsent[wire.TRefReturn]) != 2 || len(list[0].Unsent[wire.TRefBorrow]) != 1 {
		t.Errorf("detached: %+v", list)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l.Batch(wire.TRefBorrow, []byte("4"))
	if l.busy || len(h.said) != 0 {
		t.Errorf("a link that was given away said %+v, busy %v", h.said, l.busy)
	}
}

func TestDetach_ALinkWhoseOtherEndIsGone_IsNotGivenAway(t *testing.T) {
	a, h, others, open := socketLinks(t)
	if a.mu.Lock(); a.To("b") == nil {
		t.Fatal("there is no link")
	}
	l := a.Find("b")
	a.mu.Unlock()
	within(t, others, "the connection").Close()
	within(t, h.lost, "the link is lost")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.links["b"] = l // as in the moment in which its end is being told
	if list := a.Detach(); len(list) != 0 {
		t.Errorf("detached: %+v", list)
	}
	if n := open.count(); n != 0 {
		t.Errorf("%d descriptors are said to be open", n)
	}
}

// A link may be opened anew before the end of the one before it is told.
func TestLost_ALinkThatWasOpenedAnew_Stays(t *testing.T) {
	a, h, _, _ := socketLinks(t)
	a.mu.Lock()
	first := a.To("b")
	a.mu.Unlock()
	quiet(t, a)
	a.mu.Lock()
	delete(a.links, "b")
	second := a.To("b")
	a.mu.Unlock()
	quiet(t, a)
	first.lost()
	within(t, h.lost, "the first link's end")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Find("b") != second {
		t.Error("the end of an old link takes the new one away")
	}
	go first.peer.Close()
}

func TestLinks_Close_TellsOfEachDescriptorOnceAndEndsAll(t *testing.T) {
	a, h, others, open := socketLinks(t)
	a.mu.Lock()
	a.To("b")
	a.To("c")
	a.mu.Unlock()
	quiet(t, a)
	if n := open.count(); n != 2 {
		t.Errorf("%d descriptors are open, want 2", n)
	}
	a.mu.Lock()
	a.Close()
	a.mu.Unlock()
	for range 2 {
		within(t, h.lost, "a link's end")
		other := within(t, others, "a connection")
		_ = other.SetReadDeadline(time.Now().Add(patience)) // it does not fail here
		if n, err := other.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("the other end reads %d bytes, %v", n, err)
		}
	}
	if n := open.count(); n != 0 {
		t.Errorf("%d descriptors are open", n)
	}
}

// A link is for questions of this side only.
func TestLink_TheOtherEndAsks_IsRefused(t *testing.T) {
	a, _, others, _ := socketLinks(t)
	a.mu.Lock()
	a.To("b")
	a.mu.Unlock()
	other := answering(t, within(t, others, "the connection"))
	if err := other.Call(t.Context(), wire.TRegistered, nil, nil); err == nil {
		t.Error("a question over a link is answered")
	}
}

func TestServed_CloseConnections_EndsThemAsAKillWould(t *testing.T) {
	var mu sync.Mutex
	h := newServedHost()
	open := &openDescriptors{t: t, open: map[int]bool{}}
	s := NewServed(&mu, h, open.told)
	here, there := ends(t)
	s.admit(here, someone)
	if n := open.count(); n != 1 {
		t.Errorf("%d descriptors are open, want 1", n)
	}
	mu.Lock()
	if !s.Has(someone) || s.Has(ids.Owner{2}) || s.Len() != 1 {
		t.Errorf("it has someone: %v, nobody: %v, %d connections", s.Has(someone), s.Has(ids.Owner{2}), s.Len())
	}
	s.CloseConnections()
	mu.Unlock()
	if n, err := there.Read(make([]byte, 1)); err == nil {
		t.Errorf("the other end reads %d bytes", n)
	}
	within(t, h.left, "the process has left")
	if n := open.count(); n != 0 {
		t.Errorf("%d descriptors are open", n)
	}
}

func TestServed_Refuse_LetsNobodyInAndKeepsWhoIsThere(t *testing.T) {
	var mu sync.Mutex
	h := newServedHost()
	s := NewServed(&mu, h, nil)
	here, there := ends(t)
	s.admit(here, someone)
	mu.Lock()
	s.Refuse()
	mu.Unlock()
	late, other := ends(t)
	s.admit(late, ids.Owner{2})
	if n, err := other.Read(make([]byte, 1)); err == nil {
		t.Errorf("who comes late is let in, and reads %d bytes", n)
	}
	ask(t, asker(t, there))
	mu.Lock()
	defer mu.Unlock()
	if s.Len() != 1 {
		t.Errorf("%d connections, want 1", s.Len())
	}
}

// failing is an acceptor that always fails, and notes when it was asked.
type failing struct {
	asked []time.Time
	most  int
}

func (x *failing) Accept() (net.Conn, error) {
	x.asked = append(x.asked, time.Now())
	if len(x.asked) > x.most {
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", unix.EMFILE)}
}

func (x *failing) SetDeadline(time.Time) error { return nil }
func (x *failing) Close() error                { return nil }

func TestListener_NothingCanBeAccepted_TriesAgainAfterLongerPausesToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &failing{most: 8}
		l := newListener(ln, "nowhere", -1, nil, NewServed(new(sync.Mutex), nil, nil))
		l.Start()
		l.running.Wait()
		for i, ms := range []int{1, 2, 4, 8, 16, 32, 50, 50} {
			if got, want := ln.asked[i+1].Sub(ln.asked[i]), time.Duration(ms)*time.Millisecond; got != want {
				t.Errorf("pause %d lasts %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestListener_Abandoned_TheSocketStays(t *testing.T) {
	l, _, at := listening(t)
	l.Abandon()
	if _, err := os.Stat(at.path); err != nil {
		t.Errorf("the socket of a listener that was taken over is gone: %v", err)
	}
	if _, err := at.dialer.Dial(at.addr, hello(wire.RoleLease), -1); err == nil {
		t.Error("a listener that was abandoned still listens")
	}
}

func TestListener_DescriptorIsToldOfOnce(t *testing.T) {
	_, h, at := listening(t)
	open := &openDescriptors{t: t, open: map[int]bool{}}
	l, err := Listen(at.path+"2", h, NewServed(new(sync.Mutex), h, open.told))
	if err != nil {
		t.Fatal(err)
	}
	if fd := l.FD(); fd < 0 || !open.open[fd] {
		t.Errorf("descriptor %d, told of %v", fd, open.open)
	}
	l.Close()
	l.Close()
	if n := open.count(); n != 0 || l.FD() >= 0 {
		t.Errorf("%d descriptors are open, FD gives %d", n, l.FD())
	}
	if _, err := os.Stat(at.path + "2"); err == nil {
		t.Error("the socket is left behind")
	}
	if _, err := Listen(at.path, h, NewServed(new(sync.Mutex), h, nil)); err == nil {
		t.Error("two listen at one socket")
	}
}

// A page that comes with a hello is the host's only while Called runs.
func TestListener_PageIsClosedBehindCalled(t *testing.T) {
	l, h, at := listening(t)
	l.Start()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := at.dialer.Dial(at.addr, hello(wire.RoleLease), int(w.Fd()))
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	x := within(t, h.calls, "the task connection")
	unix.Close(x.fd)
	_ = r.SetReadDeadline(time.Now().Add(patience)) // a pipe can
	if n, err := r.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the page is still open: read %d bytes, %v", n, err)
	}
}

func TestDescriptor_OfWhatHasNone_IsMinusOne(t *testing.T) {
	here, _ := ends(t)
	if Descriptor(here) < 0 {
		t.Error("a socket has no descriptor")
	}
	here.Close()
	for what, x := range map[string]any{"closed": here, "no socket": 7, "nothing": nil} {
		if fd := Descriptor(x); fd != -1 {
			t.Errorf("%s: descriptor %d", what, fd)
		}
	}
}

func TestUnixDialer_TimeoutIsNotChosen_IsThatOfAHello(t *testing.T) {
	if got := (UnixDialer{}).timeout(); got != wire.HelloTimeout {
		t.Errorf("it waits for %v, want %v", got, wire.HelloTimeout)
	}
	if got := (UnixDialer{Timeout: time.Nanosecond}).timeout(); got != time.Nanosecond {
		t.Errorf("it waits for %v, want 1 ns", got)
	}
}
