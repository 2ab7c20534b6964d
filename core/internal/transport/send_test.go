package transport

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

func TestSent_OnlyTheConnectionThatHasSentAll_LeavesTheList(t *testing.T) {
	for what, x := range map[string]struct {
		before func(p *Poller, k, other *Conn)
		want   int // connections on the list after it
	}{
		"it is the only one":             {func(_ *Poller, k, _ *Conn) { k.SendLater(); k.SendLater() }, 0},
		"it is on no list":               {func(*Poller, *Conn, *Conn) {}, 0},
		"another one is alone on it":     {func(_ *Poller, _, other *Conn) { other.SendLater() }, 1},
		"another one is on it, too":      {func(_ *Poller, k, other *Conn) { k.SendLater(); other.SendLater() }, 2},
		"it has something to send still": {func(_ *Poller, k, _ *Conn) { k.SendLater(); k.Queue([]byte{1}) }, 1},
		"it is closed":                   {func(_ *Poller, k, _ *Conn) { k.Close(); k.SendLater() }, 0},
	} {
		p, _ := newPoller(t)
		k, _, _ := connected(t, p)
		other, _, _ := connected(t, p)
		p.mu.Lock()
		x.before(p, k, other)
		if k.Sent(); p.Counts().Unsent != x.want {
			t.Errorf("%s: %d connections have unsent bytes, want %d", what, p.Counts().Unsent, x.want)
		}
		k.SendLater()
		if want := max(x.want, 1); !k.Closed() && what != "another one is alone on it" && p.Counts().Unsent != want {
			t.Errorf("%s: once more it has bytes to send: %d on the list, want %d", what, p.Counts().Unsent, want)
		}
		p.mu.Unlock()
	}
}

func TestSendAll_EachIsSentAndMayBeListedAgain(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	p.ended = true // only the test sends
	p.mu.Unlock()
	for range 2 {
		k, _, other := connected(t, p)
		for _, b := range []byte{1, 2} {
			p.mu.Lock()
			k.Queue(append(k.Buffer(), b))
			k.SendLater()
			p.SendAll()
			if n := p.Counts().Unsent; n != 0 || k.Unsent() != 0 {
				t.Errorf("all is sent, and %d connections are listed; %d bytes left", n, k.Unsent())
			}
			p.mu.Unlock()
			got := make([]byte, 3)
			if n, err := unix.Read(other, got); n != 1 || got[0] != b {
				t.Errorf("read %v of %d bytes, %v", got, n, err)
			}
		}
	}
}

func TestFlush_LargeBuffer_IsNotKept(t *testing.T) {
	for size, kept := range map[int]bool{keptBuffer: true, keptBuffer + 1: false} {
		p, _ := newPoller(t)
		k, _, other := connected(t, p)
		p.mu.Lock()
		k.Queue(make([]byte, size)[:1])
		k.Flush()
		if got := cap(k.Buffer()) > 0; got != kept || k.Unsent() != 0 {
			t.Errorf("a buffer of %d bytes is kept: %v, want %v", size, got, kept)
		}
		p.mu.Unlock()
		if n, err := unix.Read(other, make([]byte, 2)); n != 1 {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
}

func TestFlush_OtherEndIsGone_BytesAreDroppedAndNobodyIsToldThatTheyWereSent(t *testing.T) {
	p, _ := newPoller(t)
	k, _, other := connected(t, p)
	if err := unix.Shutdown(other, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k.Queue([]byte("never read"))
	k.WhenSent(func() { t.Error("bytes that nobody can read are said to be sent") })
	if k.Flush(); k.Unsent() != 0 || k.Closed() || k.Full() {
		t.Errorf("%d bytes wait, closed %v, full %v", k.Unsent(), k.Closed(), k.Full())
	}
}

func TestFlushUntil_TheOtherEndReads_AllIsSent(t *testing.T) {
	for _, size := range []int{1, 8 << 20} {
		p, _ := newPoller(t)
		k, _, other := connected(t, p)
		sent := bytes.Repeat([]byte("sea"), size)[:size]
		read := make(chan []byte, 1)
		go func() {
			got, b := []byte(nil), make([]byte, 1<<20)
			for len(got) < size {
				n, err := unix.Read(other, b)
				if n <= 0 || err != nil {
					break // the test fails, since not all came
				}
				got = append(got, b[:n]...)
			}
			read <- got
		}()
		p.mu.Lock()
		k.Queue(bytes.Clone(sent))
		if size > 1 {
			k.Flush() // the socket may be full before
		}
		p.FlushUntil(time.Now().Add(patience))
		if k.Unsent() != 0 {
			t.Errorf("%d of %d bytes are left", k.Unsent(), size)
		}
		p.mu.Unlock()
		if got := within(t, read, "the bytes"); !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes came, or others", len(got), size)
		}
	}
}

func TestFlushUntil_TheOtherEndDoesNotRead_EndsAtTheDeadline(t *testing.T) {
	p, _ := newPoller(t)
	k, _, _ := connected(t, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	k.Queue(make([]byte, 8<<20))
	const limit = 5 * time.Millisecond
	began := time.Now()
	k.FlushUntil(began.Add(limit))
	if took := time.Since(began); took < limit || k.Unsent() == 0 {
		t.Errorf("it returned after %v with %d bytes left", took, k.Unsent())
	}
	began = time.Now()
	if k.FlushUntil(began.Add(-time.Second)); time.Since(began) > patience {
		t.Error("a deadline that has passed is waited for")
	}
	k.Close()
	k.FlushUntil(time.Now().Add(time.Hour)) // nothing leaves any more
}

// What the process before had read and not handled comes ahead of what the socket brings,
// and what it had not sent leaves first.
func TestRestore_GoesOnWhereTheProcessBeforeStopped(t *testing.T) {
	p, _ := newPoller(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	k, h := new(Conn), &bytesOf{p: p, want: 8, done: wait.New()}
	p.mu.Lock()
	k.Restore([]byte("half"), []byte("rest"))
	if string(k.Unread()) != "half" || k.Unsent() != 4 {
		t.Errorf("unread %q, %d unsent", k.Unread(), k.Unsent())
	}
	if err := p.Add(k, fds[0], h); err != nil {
		t.Fatal(err)
	}
	if k.FD() != fds[0] {
		t.Errorf("descriptor %d, want %d", k.FD(), fds[0])
	}
	k.Queue(append(k.Buffer(), "more"...))
	k.SendSoon()
	p.mu.Unlock()
	write(t, fds[1], []byte("HALF"))
	await(t, p, h.done)
	got := make([]byte, 8)
	if n, err := unix.Read(fds[1], got); string(got[:max(n, 0)]) != "restmore" {
		t.Errorf("sent %q, %v", got, err)
	}
	if string(h.got) != "halfHALF" || len(k.Unread()) != 0 {
		t.Errorf("handled %q, left %q", h.got, k.Unread())
	}
}

// halves takes frames of two bytes.
type halves struct{ *bytesOf }

func (x halves) Frames(in []byte) (int, error) {
	n := len(in) &^ 1
	x.got = append(x.got, in[:n]...)
	return n, nil
}

func TestRead_AnIncompleteFrame_WaitsForItsRest(t *testing.T) {
	p, _ := newPoller(t)
	k, h, other := connected(t, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	k.handler = halves{h}
	for _, x := range []struct{ sent, handled, left string }{{"abc", "ab", "c"}, {"d", "abcd", ""}, {"e", "abcd", "e"}, {"fg", "abcdef", "g"}} {
		write(t, other, []byte(x.sent))
		if p.Glance(); string(h.got) != x.handled || string(k.Unread()) != x.left {
			t.Errorf("after %q it has handled %q and keeps %q, want %q and %q", x.sent, h.got, k.Unread(), x.handled, x.left)
		}
	}
}

// A frame may be larger than what is read at a time.
func TestRead_ALongFrame_IsHandledWhole(t *testing.T) {
	p, _ := newPoller(t)
	k, h, other := connected(t, p)
	sent := make([]byte, 5*ReadChunk+3)
	for i := range sent {
		sent[i] = 1 + byte((i*7+i>>8)%255) // the handler refuses zero
	}
	long := &oneFrame{h, len(sent)}
	h.want, h.done = len(sent), wait.New()
	p.mu.Lock()
	k.handler = long
	p.mu.Unlock()
	go func() {
		for b := sent; len(b) > 0; {
			n, err := unix.Write(other, b)
			if err != nil {
				return // the test fails, since not all comes
			}
			b = b[n:]
		}
	}()
	await(t, p, h.done)
	if !bytes.Equal(h.got, sent) {
		t.Errorf("%d bytes came, want %d, or others", len(h.got), len(sent))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(k.in) > 16*ReadChunk {
		t.Errorf("the buffer for a frame of %d bytes has %d", len(sent), len(k.in))
	}
}

// oneFrame takes one frame of size bytes.
type oneFrame struct {
	*bytesOf
	size int
}

func (x *oneFrame) Frames(in []byte) (int, error) {
	if len(in) < x.size {
		return 0, nil
	}
	return x.bytesOf.Frames(in)
}

func TestCloseConnections_OtherEndsSeeItAndHandlersAreNotTold(t *testing.T) {
	told := map[int]bool{}
	p, _, _ := lent(t, Options{Descriptor: func(fd int, open bool) { told[fd] = open }})
	var others []int
	for range 3 {
		_, _, other := connected(t, p)
		others = append(others, other)
	}
	gone, h, _ := connected(t, p)
	p.mu.Lock()
	p.leader = p.nobody // so that its descriptor is to be closed later
	gone.Close()
	p.leader = nil
	fd := gone.FD()
	p.CloseConnections()
	if n := p.Counts(); n != (Counts{}) || told[fd] {
		t.Errorf("it still holds %+v; the descriptor of a closed connection is open: %v", n, told[fd])
	}
	p.mu.Unlock()
	for _, other := range others {
		if n, err := unix.Read(other, make([]byte, 1)); n != 0 || err != nil {
			t.Errorf("the other end reads %d bytes, %v; want the end", n, err)
		}
	}
	if h.gone != nil {
		t.Errorf("a handler is told %v", h.gone)
	}
}

func TestClosed_NothingCanBeSent(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	k := Closed(p)
	k.Queue([]byte("lost"))
	k.SendSoon()
	k.Flush()
	k.Close()
	if !k.Closed() || k.FD() != -1 || p.Counts() != (Counts{}) {
		t.Errorf("closed %v, descriptor %d, the poller holds %+v", k.Closed(), k.FD(), p.Counts())
	}
}

func TestAdd_NotADescriptor_IsAnError(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Add(new(Conn), 1<<30, nil); !errors.Is(err, unix.EBADF) || p.Counts() != (Counts{}) {
		t.Errorf("%v, the poller holds %+v", err, p.Counts())
	}
}

// Who queues something learns whether the other end may have got any of it.
func TestRefused_OtherEndIsGone_OnlyWhenNothingHasLeft(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	p.ended = true // only the test sends
	p.mu.Unlock()
	for what, x := range map[string]struct {
		first int // bytes that are sent before the other end goes
		want  bool
	}{"nothing was sent": {0, true}, "all before it was sent": {100, true}, "some of it was sent": {16 << 20, false}} {
		k, _, other := connected(t, p)
		p.mu.Lock()
		k.Queue(make([]byte, x.first))
		k.Flush()
		if (k.Unsent() > 0) == x.want || k.Refused() {
			t.Errorf("%s: %d bytes are left, refused: %v", what, k.Unsent(), k.Refused())
		}
		unix.Close(other)
		k.Queue(append(k.Buffer(), 1))
		k.full = false
		if k.Flush(); k.Refused() != x.want {
			t.Errorf("%s: refused: %v", what, k.Refused())
		}
		k.Close()
		p.mu.Unlock()
	}
}
