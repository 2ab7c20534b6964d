package transport

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// More sockets may have something than one poll tells of: then not everything is read yet.
func TestReadsAll_MoreThanOnePollTellsOf_ToldAfterTheLast(t *testing.T) {
	p, host := newPoller(t)
	n := len(p.events)
	handlers := make([]*bytesOf, n)
	for i := range handlers {
		_, h, other := connected(t, p)
		handlers[i] = h
		write(t, other, []byte{1})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host.readsAll = true
	if p.Glance(); host.allRead != 0 {
		t.Errorf("one poll told of %d sockets, and there may be more: told %d times that all is read", n, host.allRead)
	}
	if p.Glance(); host.allRead != 1 {
		t.Errorf("told %d times that all is read, want once", host.allRead)
	}
	for i, h := range handlers {
		if len(h.got) != 1 {
			t.Errorf("socket %d: read %q", i, h.got)
		}
	}
}

func TestPoll_CannotBeDone_HostIsTold(t *testing.T) {
	h, mu := &fakeHost{}, new(sync.Mutex)
	p, err := New(mu, h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.StopBackground()
	mu.Lock()
	defer mu.Unlock()
	was := p.epoll
	p.epoll = p.bell // which is no epoll descriptor
	found := p.poll(0)
	p.epoll = was
	if found || !errors.Is(h.failed, unix.EINVAL) || h.polls != 0 {
		t.Errorf("found %v, failed because of %v", found, h.failed)
	}
	p.Close()
	if p.epoll != -1 || p.bell != -1 {
		t.Errorf("descriptors %d and %d are kept", p.epoll, p.bell)
	}
}

func TestPoll_OnlyTheBellRang_NothingWasFound(t *testing.T) {
	p, h := newPoller(t)
	_, _, other := connected(t, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polling = true
	p.Kick()
	if p.poll(0) || p.kicked || h.polls != 1 {
		t.Errorf("the bell is said to be a socket, or is not silenced: kicked %v, %d polls", p.kicked, h.polls)
	}
	if p.poll(0) {
		t.Error("nothing came, and something is said to have come")
	}
	write(t, other, []byte{1})
	if !p.poll(0) {
		t.Error("what a socket brought is not seen")
	}
}

func TestGlance_WhereSomebodyReadsOrTheSessionHasEnded_LeavesTheSockets(t *testing.T) {
	p, host := newPoller(t)
	_, h, other := connected(t, p)
	write(t, other, []byte{1})
	p.mu.Lock()
	defer p.mu.Unlock()
	leader := wait.New()
	p.leader = leader
	if p.Glance(); p.leader != leader || len(h.got) != 0 {
		t.Error("it reads where another thread does")
	}
	p.leader, p.ended = nil, true
	if p.Glance(); len(h.got) != 0 || host.polls != 0 {
		t.Error("it reads after the session's end")
	}
	p.ended = false
	if p.Glance(); len(h.got) != 1 || p.leader != nil {
		t.Errorf("it read %q, leader %v", h.got, p.leader)
	}
}

func TestGlance_AFollowerWaits_IsWokenBehindIt(t *testing.T) {
	p, _ := newPoller(t)
	w := wait.New()
	p.mu.Lock()
	p.followers = append(p.followers, w)
	p.Glance()
	p.followers = nil
	p.mu.Unlock()
	began := time.Now()
	if w.Sleep(patience); time.Since(began) >= patience {
		t.Error("a thread that could read sleeps on")
	}
}

// Somebody has to read on when a thread leaves the sockets while something is expected.
func TestStopLeading_TheBackgroundPollerIsWantedWhileSomethingIsExpected(t *testing.T) {
	for what, x := range map[string]struct {
		before func(p *Poller, h *fakeHost)
		want   bool
	}{
		"nothing is expected":          {func(*Poller, *fakeHost) {}, false},
		"a call has no answer":         {func(_ *Poller, h *fakeHost) { h.unanswered = 1 }, true},
		"a call runs here":             {func(_ *Poller, h *fakeHost) { h.serving = true }, true},
		"bytes are queued":             {func(p *Poller, _ *fakeHost) { p.unsent = append(p.unsent, new(Conn)) }, true},
		"a connection is to be closed": {func(p *Poller, _ *fakeHost) { p.ending = append(p.ending, new(Conn)) }, true},
	} {
		p, h, b := lent(t, Options{})
		x.before(p, h)
		p.mu.Lock()
		p.leader = wait.New()
		p.stopLeading()
		if got := b.wanted(); got != x.want || p.leader != nil || time.Since(p.leftAt) > patience {
			t.Errorf("%s: a turn is wanted: %v, want %v; leader %v, left at %v", what, got, x.want, p.leader, p.leftAt)
		}
		p.unsent, p.ending = nil, nil
		p.mu.Unlock()
	}
}

func TestMayLook_WithAnotherProcessorAndFewCalls(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	p, h := newPoller(t)
	for _, x := range []struct {
		cpus, calls int
		want        bool
	}{{1, 0, false}, {2, 0, true}, {2, spinCalls, true}, {2, spinCalls + 1, false}} {
		cpus, h.unanswered = x.cpus, x.calls
		if got := p.mayLook(); got != x.want {
			t.Errorf("%d processors, %d calls: it may look: %v, want %v", x.cpus, x.calls, got, x.want)
		}
	}
	h.unanswered = 0
}

// A signal ends the wait of a thread that runs signal handlers, and of no other.
func TestInterrupted_EndsTheWaitOfAThreadWithSignalHandlers(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupted() // nobody leads
	for _, signals := range []bool{false, true} {
		w := wait.New()
		w.Signals = signals
		p.leader = w
		if p.interrupted(); w.Over() != signals {
			t.Errorf("a thread with signal handlers: %v; its wait is over: %v", signals, w.Over())
		}
	}
	p.leader = nil
}

// What BeforePoll or a socket that cannot be written to brings may be what the thread waits for.
func TestAwait_OverBeforeItSleeps_ReturnsAtOnce(t *testing.T) {
	p, _ := newPoller(t)
	k, _, _ := connected(t, p)
	w := wait.New()
	p.mu.Lock()
	defer p.mu.Unlock()
	k.Queue([]byte{1})
	k.SendLater()
	k.WhenSent(func() { w.End() }) // nobody kicks
	p.Await(w, time.Time{})
	if !w.Over() || p.leader != nil {
		t.Errorf("over %v, leader %v", w.Over(), p.leader)
	}
}

// Answers collect only while a thread waits for very many of them.
func TestAwait_ForVeryManyAnswers_LetsThemCollect(t *testing.T) {
	for missing, want := range map[int]bool{coalesceFrom - 1: false, coalesceFrom: true} {
		p, host := newPoller(t)
		host.coalesces = true
		_, h, other := connected(t, p)
		w := wait.New().For(missing, missing, false)
		h.want, h.done = 1, w
		write(t, other, []byte{1})
		await(t, p, w)
		p.mu.Lock()
		if got := !p.lookedAt.IsZero(); got != want {
			t.Errorf("%d answers are missing: they are left to collect: %v, want %v", missing, got, want)
		}
		p.mu.Unlock()
	}
}

func TestPause_NoLongerThanUntilTheDeadlineOrTheNextLook(t *testing.T) {
	now := time.Now()
	const most = coalesceFor
	for _, x := range []struct {
		looked    time.Duration // ago
		timeoutMs int
		want      time.Duration
	}{
		{0, -1, most}, {most / 2, -1, most / 2}, {2 * most, -1, -most},
		{0, 0, 0}, {0, 2, 0}, {0, 3, most}, {most / 2, 1000, most / 2},
	} {
		c := coalescer{lookedAt: now.Add(-x.looked)}
		if got := c.pause(now, x.timeoutMs); got != x.want {
			t.Errorf("the last look was %v ago, the poll may last %d ms: answers collect for %v, want %v", x.looked, x.timeoutMs, got, x.want)
		}
	}
}

func TestCoalesce_AnotherThreadWaits_LooksAtOnce(t *testing.T) {
	p, h := newPoller(t)
	h.coalesces = true
	p.mu.Lock()
	p.followers = append(p.followers, wait.New())
	p.mu.Unlock()
	if took, _ := coalesced(p, func() {}); took >= coalesceFor {
		t.Errorf("answers of another thread collect for %v at least", took)
	}
	p.mu.Lock()
	p.followers = nil
	p.mu.Unlock()
}

func TestFull_WhileItIsPaused_WatchesForRoomOnly(t *testing.T) {
	p, host := newPoller(t)
	host.unanswered = 0
	k, h, other := connected(t, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	k.Pause()
	k.Queue(make([]byte, 4<<20))
	if k.Flush(); !k.Full() || !k.Paused() {
		t.Fatalf("full %v, paused %v", k.Full(), k.Paused())
	}
	k.Flush() // does nothing while it is full
	write(t, other, []byte{1})
	b := make([]byte, 1<<20)
	for k.Unsent() > 0 {
		if n, err := unix.Read(other, b); n <= 0 {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		p.Glance()
	}
	if k.Full() || len(h.got) > 0 {
		t.Errorf("full %v; read %q though it is paused", k.Full(), h.got)
	}
	k.Resume()
	if p.Glance(); k.Paused() || len(h.got) != 1 {
		t.Errorf("paused %v, read %q", k.Paused(), h.got)
	}
}

func TestWatcher_ToldOfEachDescriptorOnce(t *testing.T) {
	var told []int
	w := watcher(func(fd int, open bool) {
		if open {
			fd += 100
		}
		told = append(told, fd)
	})
	for _, fd := range []int{0, 7, -1} {
		w.opened(fd)
		again := fd
		w.closing(&again)
		if w.closing(&again); again != -1 {
			t.Errorf("descriptor %d is kept as %d", fd, again)
		}
	}
	if !slices.Equal(told, []int{100, 0, 107, 7}) {
		t.Errorf("told %v", told)
	}
	fd := 7
	watcher(nil).opened(fd) // nobody wants to know
	watcher(nil).closing(&fd)
}

// A sleep that does not begin with looking is no vain look, and really sleeps.
func TestSleep_WithoutALook_DoesNotCountAsOne(t *testing.T) {
	p, _ := newPoller(t)
	x := sleep{timeoutMs: 3, signals: true, measures: true}
	began := time.Now()
	if n, err := p.sleep(&x); n != 0 || err != nil && err != unix.EINTR || p.spinner.misses != 0 {
		t.Errorf("%d events, %v, %d vain looks", n, err, p.spinner.misses)
	}
	if took := time.Since(began); took > 3*time.Millisecond && !x.long {
		t.Errorf("it slept %v, and does not know", took)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slept(&sleep{long: true}, 0) || !p.lone.slept {
		t.Error("the call does not learn that its answer was slept for")
	}
	for _, x := range []struct {
		s     sleep
		n     int
		early bool
	}{{sleep{signals: true, look: 1}, 0, true}, {sleep{signals: true, look: 1}, 1, false}, {sleep{signals: true}, 0, false}, {sleep{look: 1}, 0, false}} {
		if got := p.slept(&x.s, x.n); got != x.early {
			t.Errorf("%+v brought %d events: it comes back early: %v", x.s, x.n, got)
		}
	}
}

func TestSleep_AnEventIsThereAtOnce_HasNotSlept(t *testing.T) {
	p, _ := newPoller(t)
	p.mu.Lock()
	p.polling = true
	p.Kick()
	p.polling = false
	p.mu.Unlock()
	quick := false
	for range 100 { // the machine may be slow now and then
		x := sleep{timeoutMs: -1, measures: true}
		if n, err := p.sleep(&x); n != 1 || err != nil {
			t.Fatalf("%d events, %v", n, err)
		}
		quick = quick || !x.long
	}
	if !quick {
		t.Error("each of 100 waits that were over at once is said to have slept")
	}
}

// Looking never waits: as many waits of the shortest length take longer, however often they are tried.
func TestEventsNow_DoesNotWait(t *testing.T) {
	p, _ := newPoller(t)
	const n, tries = 100, 50
	took := time.Duration(math.MaxInt64)
	for range tries { // the machine may be slow now and then
		began := time.Now()
		for range n {
			if eventsNow(p.epoll, p.events[:]) != 0 {
				t.Fatal("nothing came, and there are events")
			}
		}
		if took = min(took, time.Since(began)); took <= n*time.Millisecond {
			break
		}
	}
	if took > n*time.Millisecond {
		t.Errorf("%d looks take %v at least", n, took)
	}
	if eventsNow(-1, p.events[:]) != 0 {
		t.Error("a descriptor that is none has events")
	}
}

// breaks is a handler that panics at what comes first, and then takes everything.
type breaks struct {
	bytesOf
	broken bool
}

func (b *breaks) Frames(in []byte) (int, error) {
	if !b.broken {
		b.broken = true
		panic("a bug in a handler")
	}
	return b.bytesOf.Frames(in)
}

// panics runs f, which is to panic, with the mutex held.
func panics(t *testing.T, p *Poller, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: the handler's panic does not reach the caller", what)
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// A program's thread may recover from a panic of a handler. Then it leads no more and a thread behind it is woken to
// do so, and the next wait ends as if nothing had happened.
func TestAwait_HandlerPanics_SocketsAreLeftToOthers(t *testing.T) {
	for what, leads := range map[string]func(p *Poller){
		"a thread that waits":   func(p *Poller) { p.Await(wait.New(), time.Now().Add(patience)) },
		"a glance":              func(p *Poller) { p.Glance() },
		"the background poller": func(p *Poller) { p.pollForNobody() },
	} {
		p, _ := newPoller(t)
		bad, _, toBad := connected(t, p)
		_, good, toGood := connected(t, p)
		behind := wait.New()
		p.mu.Lock()
		bad.handler = &breaks{bytesOf: bytesOf{p: p}}
		p.followers = append(p.followers, behind)
		p.mu.Unlock()
		write(t, toBad, []byte{1})
		panics(t, p, what, func() { leads(p) })
		p.mu.Lock()
		p.followers = nil
		if p.leader != nil || p.polling {
			t.Errorf("%s leads on after a panic, or seems to sleep: %v", what, p.polling)
			p.leader, p.polling = nil, false
		}
		good.done, good.want = wait.New(), 1
		p.mu.Unlock()
		began := time.Now()
		if behind.Sleep(patience); time.Since(began) >= patience {
			t.Errorf("%s: the thread behind it is not woken", what)
		}
		write(t, toGood, []byte{1})
		await(t, p, good.done)
	}
}
