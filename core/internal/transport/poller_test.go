package transport

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// fakeHost is a process that says what the test tells it to say.
type fakeHost struct {
	unanswered  int // to processes of this node
	far         int // and to others
	serving     bool
	readsAll    bool
	allRead     int
	coalesces   bool
	undisturbed time.Duration
	rests       bool
	lookAgain   time.Duration // what LookAgain shortens its bound by
	begins      int           // how often BeforePoll was called
	polls       int
	failed      error
}

func (h *fakeHost) BeforePoll()                                { h.begins++ }
func (h *fakeHost) Unanswered() (all, far int)                 { return h.unanswered + h.far, h.far }
func (h *fakeHost) Serving() bool                              { return h.serving }
func (h *fakeHost) ReadsAll() bool                             { return h.readsAll }
func (h *fakeHost) AllRead()                                   { h.allRead++; h.readsAll = false }
func (h *fakeHost) Polled()                                    { h.polls++ }
func (h *fakeHost) MayCoalesce() bool                          { return h.coalesces }
func (h *fakeHost) Undisturbed() (time.Duration, bool)         { return h.undisturbed, h.rests }
func (h *fakeHost) LookAgain(most time.Duration) time.Duration { return most - h.lookAgain }
func (h *fakeHost) Failed(err error)                           { h.failed = err }

// newPoller returns a poller that ends with the test.
func newPoller(t *testing.T) (*Poller, *fakeHost) {
	t.Helper()
	h, mu := &fakeHost{}, new(sync.Mutex)
	p, err := New(mu, h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.StopBackground()
		mu.Lock()
		defer mu.Unlock()
		p.End()
		p.AwaitNoLeader()
		p.Close()
		if h.failed != nil {
			t.Errorf("polling failed: %v", h.failed)
		}
	})
	return p, h
}

// bytesOf is the handler of a connection that keeps what comes. A frame is one
// byte, and a zero byte is refused.
type bytesOf struct {
	p    *Poller
	got  []byte
	gone error
	want int // bytes after which done is over
	done *wait.Wait
}

var errRefused = errors.New("a zero byte")

func (b *bytesOf) Frames(in []byte) (int, error) {
	if slices.Contains(in, 0) {
		return 0, errRefused
	}
	b.got = append(b.got, in...)
	if b.done != nil && len(b.got) >= b.want {
		b.p.Finish(b.done)
	}
	return len(in), nil
}

func (b *bytesOf) Gone(err error) {
	b.gone = err
	if b.done != nil {
		b.p.Finish(b.done)
	}
}

// connected returns a connection of p and the other end of its socket.
func connected(t *testing.T, p *Poller) (k *Conn, h *bytesOf, other int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[1]) })
	k, h = new(Conn), &bytesOf{p: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Add(k, fds[0], h); err != nil {
		t.Fatal(err)
	}
	return k, h, fds[1]
}

func write(t *testing.T, fd int, b []byte) {
	t.Helper()
	if n, err := unix.Write(fd, b); err != nil || n != len(b) {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(b), err)
	}
}

// await waits until w is over.
func await(t *testing.T, p *Poller, w *wait.Wait) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Await(w, time.Now().Add(patience))
	if !w.Over() {
		t.Fatal("the wait is not over")
	}
}

func TestAwait_WhatCame_GoesToTheHandler(t *testing.T) {
	p, _ := newPoller(t)
	_, h, other := connected(t, p)
	h.want, h.done = 5, wait.New()
	write(t, other, []byte("hello"))
	await(t, p, h.done)
	if string(h.got) != "hello" || h.gone != nil {
		t.Errorf("got %q, %v", h.got, h.gone)
	}
}

func TestAwait_OtherEndCloses_HandlerIsToldOnceAfterWhatItSent(t *testing.T) {
	p, _ := newPoller(t)
	k, h, other := connected(t, p)
	h.want, h.done = 99, wait.New()
	write(t, other, []byte("last"))
	if err := unix.Shutdown(other, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	await(t, p, h.done)
	if string(h.got) != "last" || !errors.Is(h.gone, errPeerLeft) || !k.Closed() {
		t.Errorf("got %q, %v, closed %v", h.got, h.gone, k.Closed())
	}
	if n := p.Counts(); n != (Counts{}) {
		t.Errorf("the poller still holds %+v", n)
	}
}

func TestAwait_HandlerRefuses_ConnectionIsClosedForThatReason(t *testing.T) {
	p, _ := newPoller(t)
	_, h, other := connected(t, p)
	h.want, h.done = 99, wait.New()
	write(t, other, []byte{1, 0})
	await(t, p, h.done)
	if !errors.Is(h.gone, errRefused) {
		t.Errorf("gone because of %v", h.gone)
	}
}

func TestAwait_Deadline_EndsIt(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	w := wait.New()
	if p.Await(w, time.Now().Add(-time.Second)); w.Over() {
		t.Error("a wait is over that only its deadline ended")
	}
	began := time.Now()
	if p.Await(w, began.Add(3*time.Millisecond)); time.Since(began) < 3*time.Millisecond {
		t.Errorf("it waited for %v, want 3 ms", time.Since(began))
	}
}

// One thread leads for all. When its own wait is over another one leads.
func TestAwait_LeaderLeaves_AFollowerReads(t *testing.T) {
	p, _ := newPoller(t)
	var done sync.WaitGroup
	ends := make([]int, 3)
	handlers := make([]*bytesOf, 3)
	for i := range ends {
		_, handlers[i], ends[i] = connected(t, p)
		handlers[i].want, handlers[i].done = 1, wait.New()
		done.Go(func() { await(t, p, handlers[i].done) })
	}
	for i := range ends {
		write(t, ends[i], []byte{1})
		for !func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return handlers[i].done.Over()
		}() {
			time.Sleep(100 * time.Microsecond)
		}
	}
	done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leader != nil || len(p.followers) > 0 {
		t.Errorf("all waits are over; leader %v, %d followers", p.leader, len(p.followers))
	}
}

func TestFinish_OfTheLeaderAndOfAFollower_WakesBoth(t *testing.T) {
	p, _ := newPoller(t)
	waits := []*wait.Wait{wait.New(), wait.New()}
	var done sync.WaitGroup
	for _, w := range waits {
		done.Go(func() { await(t, p, w) })
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		p.mu.Lock()
		both := p.polling && len(p.followers) == 1
		p.mu.Unlock()
		if both {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the two threads do not wait")
		}
	}
	p.mu.Lock()
	for _, w := range waits {
		p.Finish(w)
		p.Finish(w) // as well as once
	}
	p.mu.Unlock()
	done.Wait()
}

func TestFinish_OfAFunction_CallsItOnce(t *testing.T) {
	p, _ := newPoller(t)
	n := 0
	w := wait.Calling(func() { n++ })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Finish(w)
	if p.Finish(w); n != 1 {
		t.Errorf("called %d times", n)
	}
}

func TestFlush_FullSocket_RestIsSentWhenTheOtherEndReads(t *testing.T) {
	p, h := newPoller(t)
	h.unanswered = 1 // somebody has to read
	k, _, other := connected(t, p)
	sent := make([]byte, 4<<20)
	for i := range sent {
		sent[i] = byte(i)
	}
	emptied := make(chan struct{})
	p.mu.Lock()
	k.Queue(slices.Clone(sent))
	k.WhenSent(func() { close(emptied) })
	k.WhenSent(func() { t.Error("the second function is called, though one waits already") })
	k.Flush()
	if !k.Full() || k.Unsent() == 0 {
		t.Errorf("4 MiB fit the socket: full %v, %d left", k.Full(), k.Unsent())
	}
	p.mu.Unlock()
	got, b := []byte(nil), make([]byte, 1<<16)
	for len(got) < len(sent) {
		n, err := unix.Read(other, b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b[:n]...)
	}
	if !slices.Equal(got, sent) {
		t.Error("the bytes came in another order")
	}
	select {
	case <-emptied:
	case <-time.After(patience):
		t.Error("nobody was told that all is sent")
	}
}

// What is queued leaves although no thread waits: the background poller sends it.
func TestSendSoon_NobodyWaits_IsSent(t *testing.T) {
	p, _ := newPoller(t)
	k, _, other := connected(t, p)
	p.mu.Lock()
	k.Queue(append(k.Buffer(), "hello"...))
	k.SendSoon()
	p.mu.Unlock()
	b := make([]byte, 9)
	if n, err := unix.Read(other, b); err != nil || string(b[:n]) != "hello" {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

func TestPause_NothingIsReadUntilResumeOrTheEnd(t *testing.T) {
	p, _ := newPoller(t)
	k, h, other := connected(t, p)
	h.want, h.done = 1, wait.New()
	p.mu.Lock()
	k.Pause()
	p.mu.Unlock()
	write(t, other, []byte{1})
	p.mu.Lock()
	if p.Glance(); len(h.got) > 0 {
		t.Error("a paused connection is read")
	}
	k.Resume()
	if p.Glance(); len(h.got) != 1 {
		t.Errorf("%d bytes were read after Resume", len(h.got))
	}
	k.Pause()
	p.mu.Unlock()
	write(t, other, []byte{2})
	h.done, h.want = wait.New(), 99
	if err := unix.Shutdown(other, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	await(t, p, h.done)
	if len(h.got) != 2 || h.gone == nil {
		t.Errorf("the other end is gone: read %v, told %v; what it had sent stands before its end", h.got, h.gone)
	}
}

func TestCloseWhenRead_HandlerGetsWhatWasSentFirst(t *testing.T) {
	p, _ := newPoller(t)
	k, h, other := connected(t, p) // its other end stays open, as in a child that inherited it
	write(t, other, []byte("last"))
	h.want, h.done = 99, wait.New()
	p.mu.Lock()
	k.CloseWhenRead()
	p.mu.Unlock()
	await(t, p, h.done)
	if string(h.got) != "last" || h.gone == nil || !k.Closed() {
		t.Errorf("got %q, told %v, closed %v", h.got, h.gone, k.Closed())
	}
}

func TestClose_WhileSomebodyReads_DescriptorStaysUntilThen(t *testing.T) {
	p, _ := newPoller(t)
	k, h, _ := connected(t, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = p.nobody
	k.Close()
	k.Close()
	if n := p.Counts(); n.Retired != 1 || n.Connections != 0 {
		t.Errorf("%+v, want one descriptor to be closed", n)
	}
	p.stopLeading()
	if n := p.Counts(); n.Retired != 0 || h.gone != nil {
		t.Errorf("%+v, told %v", n, h.gone)
	}
}

func TestReadsAll_ToldWhenEverythingThatArrivedIsRead(t *testing.T) {
	p, host := newPoller(t)
	_, h, other := connected(t, p)
	write(t, other, []byte("calls"))
	p.mu.Lock()
	defer p.mu.Unlock()
	host.readsAll = true
	p.Glance()
	if string(h.got) != "calls" || host.allRead != 1 {
		t.Errorf("read %q, told %d times", h.got, host.allRead)
	}
}

func TestWatchOnce_CalledOnceUntilArmedAgain(t *testing.T) {
	p, _ := newPoller(t)
	fd, err := unix.Eventfd(1, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) // readable for ever
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	n := 0
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.WatchOnce(fd, func() { n++ }); err != nil {
		t.Fatal(err)
	}
	p.Glance()
	if p.Glance(); n != 1 {
		t.Errorf("called %d times, want once", n)
	}
	p.WatchAgain(fd)
	p.Glance()
	if p.Glance(); n != 2 {
		t.Errorf("armed again: called %d times, want twice", n)
	}
	if err := p.WatchOnce(-1, nil); err == nil {
		t.Error("a descriptor that is none is watched")
	}
}

func TestEnd_AllWaitsEndAndNobodyReads(t *testing.T) {
	p, _ := newPoller(t)
	var done sync.WaitGroup
	for range 3 {
		done.Go(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.Await(wait.New(), time.Time{})
		})
	}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		p.mu.Lock()
		all := p.leader != nil && len(p.followers) == 2
		p.mu.Unlock()
		if all {
			break
		}
		if time.Now().After(end) {
			t.Fatal("three threads do not wait")
		}
	}
	p.mu.Lock()
	p.End()
	p.AwaitNoLeader()
	p.mu.Unlock()
	done.Wait()
}

func TestDescriptor_EachThatOpensCloses(t *testing.T) {
	open, opens := map[int]bool{}, 0
	var both sync.Mutex
	mu := new(sync.Mutex)
	p, err := New(mu, &fakeHost{}, Options{Descriptor: func(fd int, opened bool) {
		both.Lock()
		defer both.Unlock()
		if open[fd] == opened {
			t.Errorf("descriptor %d: told %v twice", fd, opened)
		}
		if open[fd] = opened; opened {
			opens++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	k, _, _ := connected(t, p)
	mu.Lock()
	k.Close()
	mu.Unlock()
	connected(t, p)
	p.StopBackground()
	mu.Lock()
	p.End()
	p.Close()
	mu.Unlock()
	for fd, is := range open {
		if is {
			t.Errorf("descriptor %d is not closed", fd)
		}
	}
	if opens != 4 { // the poller's two and two connections
		t.Errorf("told of %d descriptors, want 4", opens)
	}
}
