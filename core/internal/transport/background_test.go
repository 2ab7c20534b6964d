package transport

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// lent returns a poller whose background poller runs on the test's thread: it
// takes a turn only when the test calls Turn.
func lent(t *testing.T, o Options) (*Poller, *fakeHost, *Background) {
	t.Helper()
	var b *Background
	o.Lend = func(x *Background) bool {
		b = x
		return true
	}
	h, mu := &fakeHost{}, new(sync.Mutex)
	p, err := New(mu, h, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() {
			p.StopBackground()
			close(done)
		}()
		for ended := false; !ended; ended = b.Turn().Mode == ModeEnd {
			if !b.ending() {
				time.Sleep(10 * time.Microsecond)
			}
		}
		within(t, done, "the background poller has ended")
		mu.Lock()
		defer mu.Unlock()
		p.Close()
	})
	return p, h, b
}

// rung reports whether a bell has rung, and silences it.
func rung(bell int) bool {
	var b [8]byte
	n, _ := unix.Read(bell, b[:])
	return n == 8
}

func TestTurn_WithoutAnythingToRead_ParksOrNaps(t *testing.T) {
	for what, x := range map[string]struct {
		before func(p *Poller, h *fakeHost)
		want   Pause
	}{
		"nothing is expected":                   {func(*Poller, *fakeHost) {}, Pause{Mode: ModeWait}},
		"a turn was wanted":                     {func(p *Poller, _ *fakeHost) { p.Arm() }, Pause{ModeNap, napFor, 7 * time.Second}},
		"a thread reads":                        {func(p *Poller, h *fakeHost) { p.leader, h.unanswered = wait.New(), 1 }, Pause{Mode: ModeWait}},
		"a thread reads, and a turn was wanted": {func(p *Poller, h *fakeHost) { p.Arm(); p.leader, h.unanswered = wait.New(), 1 }, Pause{ModeNap, napFor, 7 * time.Second}},
		"the session ends":                      {func(p *Poller, h *fakeHost) { p.Arm(); h.unanswered = 1; p.ended = true }, Pause{Mode: ModeWait}},
	} {
		p, h, b := lent(t, Options{Quiet: 7 * time.Second})
		_, got, other := connected(t, p)
		write(t, other, []byte("call"))
		x.before(p, h)
		if next := b.Turn(); next != x.want {
			t.Errorf("%s: the pause is %+v, want %+v", what, next, x.want)
		}
		if len(got.got) > 0 {
			t.Errorf("%s: it has read", what)
		}
		if b.wanted() {
			t.Errorf("%s: the turn that was wanted is wanted still", what)
		}
		p.leader = nil
	}
}

func TestTurn_QuietIsNotChosen_HasADefault(t *testing.T) {
	p, _, b := lent(t, Options{})
	p.mu.Lock()
	p.Arm()
	p.mu.Unlock()
	if got, want := b.Turn(), (Pause{ModeNap, napFor, quietFor}); got != want {
		t.Errorf("the pause is %+v, want %+v", got, want)
	}
}

func TestTurn_CallsAreUnderWay_ReadsAndWatches(t *testing.T) {
	const busy, watched = busyFor, 60 * time.Millisecond
	for what, x := range map[string]struct {
		before func(p *Poller, h *fakeHost)
		sends  bool // the other end sends something
		want   Pause
	}{
		"an answer came, another is missing":     {func(*Poller, *fakeHost) {}, true, Pause{ModeNap, busy, busy}},
		"no answer came":                         {func(*Poller, *fakeHost) {}, false, Pause{Mode: ModeWatch, Quiet: watched}},
		"a call runs here":                       {func(_ *Poller, h *fakeHost) { h.unanswered, h.serving = 0, true }, false, Pause{Mode: ModeWatch, Quiet: watched}},
		"an event loop waits, an answer came":    {func(p *Poller, _ *fakeHost) { p.LoopWaits() }, true, Pause{Mode: ModeWatch, Quiet: followFor}},
		"an event loop waits, nothing came":      {func(p *Poller, _ *fakeHost) { p.LoopWaits() }, false, Pause{Mode: ModeWatch, Quiet: followFor}},
		"an event loop waits for no answer now":  {func(p *Poller, h *fakeHost) { p.LoopWaits(); h.unanswered = 0 }, false, Pause{Mode: ModeWatch, Quiet: followFor}},
		"an event loop waited some time ago":     {func(p *Poller, _ *fakeHost) { p.loopedAt = time.Now().Add(-followFor) }, false, Pause{Mode: ModeWatch, Quiet: watched}},
		"a thread waits for another one to read": {func(p *Poller, _ *fakeHost) { p.followers = append(p.followers, wait.New()) }, true, Pause{ModeNap, napFor, quietFor}},
	} {
		p, h, b := lent(t, Options{})
		h.unanswered, h.lookAgain = 1, watchFor-watched
		_, got, other := connected(t, p)
		x.before(p, h)
		if x.sends {
			write(t, other, []byte("answer"))
		}
		if next := b.Turn(); next != x.want {
			t.Errorf("%s: the pause is %+v, want %+v", what, next, x.want)
		}
		if (len(got.got) > 0) != x.sends || h.polls != 1 || h.begins != 1 {
			t.Errorf("%s: it read %q in %d polls, told of %d", what, got.got, h.polls, h.begins)
		}
		if p.leader != nil {
			t.Errorf("%s: it still leads", what)
		}
		p.followers = nil
	}
}

// The last answer that anybody expects is read: nobody watches after that.
func TestTurn_TheLastAnswerIsRead_NapsUntilItIsNotNeeded(t *testing.T) {
	p, h, b := lent(t, Options{})
	k, _, _ := connected(t, p)
	p.mu.Lock()
	k.CloseWhenRead() // that is all that is expected
	p.mu.Unlock()
	if got, want := b.Turn(), (Pause{ModeNap, napFor, quietFor}); got != want || h.polls != 1 {
		t.Errorf("the pause is %+v after %d polls, want %+v", got, h.polls, want)
	}
	if !k.Closed() {
		t.Error("a connection that was to be closed when it is read is open")
	}
}

func TestTurn_AFollowerWaits_IsWoken(t *testing.T) {
	p, h, b := lent(t, Options{})
	h.unanswered = 1
	w := wait.New()
	p.followers = append(p.followers, w)
	b.Turn()
	p.followers = nil
	began := time.Now()
	if w.Sleep(patience); time.Since(began) >= patience {
		t.Error("a thread that could read sleeps on")
	}
}

// A thread that has just read will read again soon: the background poller leaves it the sockets.
func TestTurn_AThreadHasJustRead_NapsForTheRestOfAMillisecond(t *testing.T) {
	p, h, b := lent(t, Options{})
	h.unanswered = 1
	p.leftAt = time.Now().Add(time.Hour) // so that the time does not pass meanwhile
	got := b.Turn()
	if got.Mode != ModeNap || got.Nap != got.Quiet || got.Nap > time.Hour+napFor || got.Nap < time.Hour-time.Minute || h.polls > 0 {
		t.Errorf("the pause is %+v after %d polls", got, h.polls)
	}
	p.mu.Lock()
	p.LoopWaits() // an event loop never reads
	p.mu.Unlock()
	if got := b.Turn(); got.Mode != ModeWatch || h.polls != 1 {
		t.Errorf("beside an event loop the pause is %+v after %d polls", got, h.polls)
	}
}

func TestTurn_ACallComputes_LooksSeldomUnlessSomethingIsToBeSent(t *testing.T) {
	for what, x := range map[string]struct {
		left  time.Duration
		rests bool
		own   bool // the background poller has a goroutine in place of a thread that is lent
		want  Pause
	}{
		"nothing needs a look":                  {time.Hour, true, false, Pause{Mode: ModeRest, Quiet: time.Hour}},
		"nothing needs a look, no thread":       {time.Hour, true, true, Pause{ModeNap, time.Hour / 2, time.Hour}},
		"a look would come too early":           {time.Hour, false, false, Pause{ModeNap, time.Hour / 2, time.Hour}},
		"a look would come a little too early":  {napFor / 2, false, false, Pause{ModeNap, napFor, napFor}},
		"a look would come hardly too early":    {napFor + napFor/2, false, false, Pause{ModeNap, napFor, napFor + napFor/2}},
		"the time until the next look has come": {0, true, false, Pause{Mode: ModeWatch, Quiet: watchFor}},
	} {
		_, h, b := lent(t, Options{})
		h.unanswered, h.undisturbed, h.rests = 1, x.left, x.rests
		if x.own {
			b.timer = time.NewTimer(time.Hour)
		}
		if got := b.Turn(); got != x.want {
			t.Errorf("%s: the pause is %+v, want %+v", what, got, x.want)
		}
		b.timer = nil
	}
	p, h, b := lent(t, Options{})
	h.unanswered, h.undisturbed, h.rests = 1, time.Hour, true
	k, _, _ := connected(t, p)
	p.mu.Lock()
	k.CloseWhenRead()
	p.mu.Unlock()
	if got := b.Turn(); got.Mode != ModeWatch || !k.Closed() {
		t.Errorf("a connection is to be closed, and the pause is %+v; closed %v", got, k.Closed())
	}
}

func TestTurn_TheBackgroundPollerIsToEnd_SaysSoAndTouchesNothing(t *testing.T) {
	p, h, b := lent(t, Options{})
	h.unanswered = 1
	done := make(chan struct{})
	go func() {
		p.StopBackground()
		close(done)
	}()
	for end := time.Now().Add(patience); !b.ending(); time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("the background poller is not told that it is to end")
		}
	}
	for end := time.Now().Add(patience); !rung(b.Bell); time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("a background poller that is to end is not woken")
		}
	}
	if got := b.Turn(); got.Mode != ModeEnd || h.polls+h.begins > 0 {
		t.Errorf("the pause is %+v after %d polls", got, h.polls)
	}
	within(t, done, "StopBackground returns")
	p.StopBackground() // does nothing
	p.mu.Lock()
	p.Arm() // does nothing either
	p.mu.Unlock()
	b.gone = make(chan struct{}) // for the cleanup, which ends it again
}

// What rings the bell of a background poller: a thread that is lent waits for it
// while it waits, watches or rests, and looks at Armed while it naps.
func TestArm_WakesAThreadThatIsLentUnlessItNaps(t *testing.T) {
	for mode, want := range map[int]bool{ModeWait: true, ModeWatch: true, ModeRest: true, ModeNap: false, ModeEnd: false} {
		p, _, b := lent(t, Options{})
		b.mode = mode
		p.mu.Lock()
		p.Arm()
		p.mu.Unlock()
		if got := rung(b.Bell); got != want || !b.wanted() || b.ending() {
			t.Errorf("mode %d: it rang: %v, want %v; a turn is wanted: %v", mode, got, want, b.wanted())
		}
		p.mu.Lock()
		p.Arm()
		p.mu.Unlock()
		if rung(b.Bell) {
			t.Errorf("mode %d: it rang twice for one turn", mode)
		}
	}
}

func TestArm_OnlyWhereATurnIsNeeded(t *testing.T) {
	leads := func(p *Poller) { p.leader = wait.New() }
	sleeps := func(p *Poller) { leads(p); p.polling = true }
	queued := func(p *Poller) { p.unsent = append(p.unsent, new(Conn)) }
	mode := func(m int) func(*Poller) { return func(p *Poller) { p.alarm.mode = m } }
	nothing := func(*Poller) {}
	later := func(p *Poller, _ *Conn) { p.ArmLater(false) }
	behind := func(p *Poller, _ *Conn) { p.ArmLater(true) }
	soon := func(_ *Poller, k *Conn) { k.ReadSoon() }
	reader := func(p *Poller, _ *Conn) { p.LoopWaits() }
	look := func(p *Poller, _ *Conn) { p.LookSoon() }
	send := func(_ *Poller, k *Conn) { k.SendSoon() }
	for what, x := range map[string]struct {
		before func(*Poller)
		what   func(*Poller, *Conn)
		want   bool
	}{
		"a call begins, waiting":                             {nothing, later, true},
		"a call begins, watching":                            {mode(ModeWatch), later, false},
		"a call begins with more behind it, watching":        {mode(ModeWatch), behind, true},
		"a call begins with more behind it, napping":         {mode(ModeNap), behind, false},
		"a call begins, resting":                             {mode(ModeRest), behind, false},
		"a call begins with something to send, napping":      {func(p *Poller) { mode(ModeNap)(p); queued(p) }, later, true},
		"an answer is expected, nobody reads":                {nothing, soon, true},
		"an answer is expected, the background watches":      {mode(ModeWatch), soon, false},
		"an answer is expected, the background rests":        {mode(ModeRest), soon, true},
		"an answer is expected, a thread reads":              {leads, soon, false},
		"an event loop waits":                                {nothing, reader, true},
		"an event loop waits, the background watches":        {mode(ModeWatch), reader, false},
		"a look is wanted, nobody reads":                     {nothing, look, true},
		"a look is wanted, the background watches":           {mode(ModeWatch), look, true},
		"a look is wanted, a thread reads":                   {leads, look, false},
		"bytes are queued, nobody reads":                     {nothing, send, true},
		"bytes are queued, a thread is about to send":        {leads, send, false},
		"bytes are queued, a thread sleeps":                  {sleeps, send, true},
		"bytes are queued, the background poller is at work": {func(p *Poller) { p.leader = p.nobody }, send, true},
		"the session has ended":                              {func(p *Poller) { p.ended = true }, look, false},
	} {
		p, _, b := lent(t, Options{})
		k, _, _ := connected(t, p)
		p.mu.Lock()
		x.before(p)
		x.what(p, k)
		if got := b.wanted(); got != x.want {
			t.Errorf("%s: a turn is wanted: %v, want %v", what, got, x.want)
		}
		p.leader, p.polling, p.unsent = nil, false, nil
		p.mu.Unlock()
	}
}

func TestLookSoon_AThreadSleepsInThePoll_IsWokenOnce(t *testing.T) {
	p, _, _ := lent(t, Options{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = wait.New()
	if p.LookSoon(); rung(p.bell) {
		t.Error("a thread that is awake is woken")
	}
	p.polling = true
	p.LookSoon()
	p.LookSoon()
	var b [8]byte
	if n, err := unix.Read(p.bell, b[:]); n != 8 || b[0] != 1 {
		t.Errorf("the bell rang %d times, %v; want once", b[0], err)
	}
	p.leader, p.polling = nil, false
}

func TestLed_OnlyByAThreadThatWaits(t *testing.T) {
	p, _, _ := lent(t, Options{})
	for _, x := range []struct {
		leader *wait.Wait
		want   bool
	}{{nil, false}, {p.nobody, false}, {wait.New(), true}} {
		if p.leader = x.leader; p.Led() != x.want {
			t.Errorf("leader %v: led %v", x.leader, !x.want)
		}
	}
	p.leader = nil
}

func TestNap_EndsWhenATurnIsWantedOrAfterItsTime(t *testing.T) {
	_, _, b := lent(t, Options{})
	const nap = 3 * time.Millisecond
	began := time.Now()
	if b.Nap(Pause{Nap: nap, Quiet: 3 * nap}); time.Since(began) < 3*nap {
		t.Errorf("nobody wanted a turn, and it napped for %v, want %v", time.Since(began), 3*nap)
	}
	*b.Armed = armedWanted
	began = time.Now()
	if b.Nap(Pause{Nap: nap, Quiet: time.Hour}); time.Since(began) < nap {
		t.Errorf("it napped for %v, want %v", time.Since(began), nap)
	}
}

// A program that lends no thread after all gets a goroutine, and no descriptor is left.
func TestNew_NoThreadIsLent_AGoroutineSends(t *testing.T) {
	var refused *Background
	p, err := New(new(sync.Mutex), &fakeHost{}, Options{Lend: func(b *Background) bool {
		refused = b
		return false
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	defer p.StopBackground()
	if refused == nil || refused.timer == nil || refused.Bell != p.bell || refused.Epoll != p.epoll {
		t.Fatalf("the background poller is %+v", refused)
	}
	k, _, other := connected(t, p)
	p.mu.Lock()
	k.Queue([]byte("x"))
	k.SendSoon()
	p.mu.Unlock()
	if n, err := unix.Read(other, make([]byte, 2)); n != 1 {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestNew_AThreadIsLent_ItsBellIsToldOfAndClosed(t *testing.T) {
	open := map[int]bool{}
	t.Cleanup(func() { // after the poller's end
		for fd, is := range open {
			if is {
				t.Errorf("descriptor %d is not closed", fd)
			}
		}
	})
	p, _, b := lent(t, Options{Descriptor: func(fd int, is bool) { open[fd] = is }})
	if bell := b.Bell; !open[bell] || !open[b.Epoll] || bell == p.bell || b.Epoll != p.epoll {
		t.Errorf("told of %v; the bell is %d", open, bell)
	}
}

// The goroutine watches while an answer is missing, and reads it when it comes.
func TestBackground_GoroutineWatches_ReadsTheAnswerThatComes(t *testing.T) {
	p, host := newPoller(t)
	_, h, other := connected(t, p)
	p.mu.Lock()
	host.unanswered = 1
	p.Arm()
	p.mu.Unlock()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Microsecond) {
		p.mu.Lock()
		watches := p.alarm.mode == ModeWatch
		p.mu.Unlock()
		if watches {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not watch")
		}
	}
	write(t, other, []byte("answer"))
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Microsecond) {
		p.mu.Lock()
		n := len(h.got)
		p.mu.Unlock()
		if n == 6 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the answer is not read")
		}
	}
}
