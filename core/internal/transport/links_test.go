package transport

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

var errNobody = fmt.Errorf("nobody listens there: %w", unix.ECONNREFUSED)

// pipes is a Dialer whose connections are pipes. An address that is not in it
// has nobody.
type pipes struct {
	gate  chan struct{} // dialling waits until it is closed; nil: not at all
	other map[string]chan net.Conn
}

func (d *pipes) Dial(string, wire.Hello, int) (int, error) { return -1, errNobody }

func (d *pipes) DialControl(addr string, _ wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	if d.gate != nil {
		<-d.gate
	}
	other := d.other[addr]
	if other == nil {
		return nil, errNobody
	}
	here, there := net.Pipe()
	other <- there
	return wire.NewPeer(here, handle, closed), nil
}

// sent is what a link's host was told to send.
type sent struct {
	t     wire.Type
	batch []string
	err   error
}

// linkHost keeps what it is told.
type linkHost struct {
	mu   sync.Mutex
	said []sent
	lost chan string
	late []string // whom it could not connect to, and why; the links' mutex guards it
}

func (h *linkHost) Send(t wire.Type, batch [][]byte, _ *wire.Peer, err error) {
	x := sent{t: t, err: err}
	for _, id := range batch {
		x.batch = append(x.batch, string(id))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, x)
}

func (h *linkHost) Lost(addr string) { h.lost <- addr }

func (h *linkHost) Unconnected(addr string, why error) {
	h.late = append(h.late, fmt.Sprintf("%s: %v", addr, why))
}

// newLinks returns links to the process "b", which listens.
func newLinks(t *testing.T, gate chan struct{}) (*Links, *linkHost, chan net.Conn) {
	t.Helper()
	h, there := &linkHost{lost: make(chan string, 9)}, make(chan net.Conn, 9)
	a := NewLinks(new(sync.Mutex), h, &pipes{gate: gate, other: map[string]chan net.Conn{"b": there}}, func() wire.Hello { return wire.Hello{} }, nil)
	t.Cleanup(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.Close()
	})
	return a, h, there
}

// quiet waits until everything that was asked for is said.
func quiet(t *testing.T, a *Links) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		a.mu.Lock()
		ok := a.Quiet()
		a.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal("not everything is said")
		}
	}
}

func TestLink_WhatIsAskedFor_IsSaidInOrderAndTogetherWhereThatKeepsTheOrder(t *testing.T) {
	gate := make(chan struct{})
	a, h, _ := newLinks(t, gate)
	a.mu.Lock()
	l := a.To("b")
	for _, id := range []string{"1", "2"} {
		l.Batch(wire.TRefBorrow, []byte(id))
	}
	l.Batch(wire.TRefReturn, []byte("1"))
	l.Batch(wire.TRefBorrow, []byte("1"))
	l.Do(func(p *wire.Peer, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.said = append(h.said, sent{batch: []string{"do"}, err: err})
	})
	l.Batch(wire.TRefBorrow, []byte("3"))
	l.BatchAll(wire.TRefReturn, [][]byte{[]byte("4"), []byte("5")})
	if a.To("b") != l || a.Find("b") != l || a.Len() != 1 {
		t.Error("there is more than one link to a process")
	}
	a.mu.Unlock()
	close(gate)
	quiet(t, a)
	want := []sent{
		{t: wire.TRefBorrow, batch: []string{"1", "2"}}, {t: wire.TRefReturn, batch: []string{"1"}}, {t: wire.TRefBorrow, batch: []string{"1"}},
		{batch: []string{"do"}}, {t: wire.TRefBorrow, batch: []string{"3"}}, {t: wire.TRefReturn, batch: []string{"4", "5"}},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.EqualFunc(h.said, want, func(x, y sent) bool { return x.t == y.t && x.err == y.err && slices.Equal(x.batch, y.batch) }) {
		t.Errorf("said %+v", h.said)
	}
}

func TestLink_BatchesAreBounded(t *testing.T) {
	gate := make(chan struct{})
	a, h, _ := newLinks(t, gate)
	a.mu.Lock()
	for range MaxBatch + 1 {
		a.To("b").Batch(wire.TRefReturn, nil)
	}
	a.mu.Unlock()
	close(gate)
	quiet(t, a)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.said) != 2 || len(h.said[0].batch) != MaxBatch || len(h.said[1].batch) != 1 {
		t.Errorf("%d messages", len(h.said))
	}
}

func TestLink_NobodyListens_IsTold(t *testing.T) {
	a, h, _ := newLinks(t, nil)
	told := make(chan error, 1)
	a.mu.Lock()
	a.To("nobody").Do(func(_ *wire.Peer, err error) { told <- err })
	a.mu.Unlock()
	if err := <-told; !errors.Is(err, errNobody) {
		t.Errorf("told %v", err)
	}
	if addr := <-h.lost; addr != "nobody" {
		t.Errorf("%q is lost", addr)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Find("nobody") != nil {
		t.Error("the link is kept: nobody would try again")
	}
}

func TestLink_OtherEndCloses_LostOnceAndOpenedAnew(t *testing.T) {
	a, h, there := newLinks(t, nil)
	a.mu.Lock()
	first := a.To("b")
	a.mu.Unlock()
	(<-there).Close()
	if addr := <-h.lost; addr != "b" {
		t.Errorf("%q is lost", addr)
	}
	a.mu.Lock()
	second := a.To("b")
	a.mu.Unlock()
	if second == first {
		t.Error("the lost link is used again")
	}
	<-there
}

// A session that ends while a link is being opened leaves no connection behind.
func TestLinks_CloseWhileOneIsBeingOpened_ItIsClosed(t *testing.T) {
	gate := make(chan struct{})
	a, _, there := newLinks(t, gate)
	told := make(chan error, 1)
	a.mu.Lock()
	a.To("b").Do(func(_ *wire.Peer, err error) { told <- err })
	a.Close()
	a.mu.Unlock()
	close(gate)
	conn := <-there
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // it fails when the other end is closed already
	var ne net.Error
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.As(err, &ne) && ne.Timeout() {
		t.Errorf("the connection stays open: %v", err)
	}
	if err := <-told; !errors.Is(err, errLinksClosed) {
		t.Errorf("who waits for the link is told %v", err)
	}
}

func TestDetach_OpenLinksWithWhatTheyHadToSay(t *testing.T) {
	a, h, _ := newLinks(t, nil)
	a.mu.Lock()
	a.To("b")
	a.To("nobody")
	a.mu.Unlock()
	quiet(t, a)
	<-h.lost // "nobody"
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.Find("b")
	l.stopped = true // as in the moment in which it stops
	l.Batch(wire.TRefReturn, []byte("1"))
	got := a.Detach()
	if len(got) != 1 || got[0].Addr != "b" || got[0].Conn == nil || len(got[0].Unsent[wire.TRefReturn]) != 1 {
		t.Errorf("%+v", got)
	}
}
