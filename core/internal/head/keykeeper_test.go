package head

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/record"
)

// keyState is a state that holds leases of keys and nothing else, and may fail.
type keyState struct {
	State
	mu       sync.Mutex
	leases   []record.KeyLease
	reign    uint64
	begun    int     // how often a reign was to begin
	fails    []error // for the next beginnings of a reign; nil: it begins
	endFails error
	fresh    error
	ended    map[uint64]time.Duration // when each lease has ended
	begin    time.Time
}

var errDisk = errors.New("the disk is full")

func newKeyState(leases ...record.KeyLease) *keyState {
	return &keyState{leases: leases, reign: 100, ended: map[uint64]time.Duration{}, begin: time.Now()}
}

func lease(id uint64, ttl time.Duration) record.KeyLease {
	return record.KeyLease{ID: id, TTLMs: ttl.Milliseconds()}
}

func (s *keyState) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *keyState) KeyLeases() (list []record.KeyLease) {
	s.locked(func() { list = slices.Clone(s.leases) })
	return list
}

func (s *keyState) KeyLease(id uint64) (l record.KeyLease, found bool) {
	for _, one := range s.KeyLeases() {
		if one.ID == id {
			return one, true
		}
	}
	return l, false
}

func (s *keyState) BeginKeyReign(context.Context) (reign uint64, err error) {
	s.locked(func() {
		s.begun++
		if len(s.fails) > 0 {
			err, s.fails = s.fails[0], s.fails[1:]
		}
		if err == nil {
			s.reign++
			reign = s.reign
		}
	})
	return reign, err
}

func (s *keyState) KeyReign() (reign uint64) {
	s.locked(func() { reign = s.reign })
	return reign
}

func (s *keyState) EndKeyLease(_ context.Context, id, reign uint64) (err error) {
	s.locked(func() {
		if err = s.endFails; err != nil {
			return
		}
		if reign != s.reign {
			err = record.ErrStale
			return
		}
		s.ended[id] = time.Since(s.begin)
		s.leases = slices.DeleteFunc(s.leases, func(l record.KeyLease) bool { return l.ID == id })
	})
	return err
}

func (s *keyState) Fresh(context.Context) (err error) {
	s.locked(func() { err = s.fresh })
	return err
}

func (s *keyState) Key(string) (record.KeyPair, bool) { return record.KeyPair{Version: 3}, true }
func (s *keyState) ListKeys(string) record.KeyList {
	return record.KeyList{Pairs: make([]record.KeyPair, 2)}
}
func (s *keyState) add(l record.KeyLease)      { s.locked(func() { s.leases = append(s.leases, l) }) }
func (s *keyState) set(what *error, err error) { s.locked(func() { *what = err }) }
func (s *keyState) endedAt(id uint64) (d time.Duration) {
	s.locked(func() { d = s.ended[id] })
	return d
}
func (s *keyState) begins() (n int) { s.locked(func() { n = s.begun }); return n }

// keeping is a head whose keeper of leases runs, inside a bubble of synctest.
func keeping(t *testing.T, s *keyState, log *bytes.Buffer) *Head {
	h := quietHead(s, log)
	h.ends.Go(h.keyLeases.run)
	t.Cleanup(func() { h.cancel(); h.ends.Wait() })
	return h
}

func TestKeyKeeper_NotLeading_KeepsNothingAndBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newKeyState(lease(1, time.Second))
		h := keeping(t, s, &bytes.Buffer{})
		wait, reign, kept, err := h.keyLeases.tryKeep(1)
		if wait != nil || reign != 0 || kept || fault.CodeOf(err) != fault.HeadUnavailable {
			t.Errorf("it says %v, %d, %v, %v", wait, reign, kept, err)
		}
		h.keyLeases.stir()
		time.Sleep(3 * time.Hour)
		if s.begins() != 0 || s.endedAt(1) != 0 {
			t.Errorf("a head that does not lead began %d reigns, and ended the lease after %v", s.begins(), s.endedAt(1))
		}
		if h.keyLeases.follow(true); h.keyLeases.pause() != retryReign {
			t.Errorf("it waits %v with a lease and no reign", h.keyLeases.pause())
		}
		synctest.Wait()
		if _, _, kept, err := h.keyLeases.tryKeep(9); kept || err != nil {
			t.Errorf("a lease that is not there: %v, %v", kept, err)
		}
	})
}

// A head that leads begins a reign with the first lease. Each lease ends when its own time is over, whichever way the head has heard of it.
func TestKeyKeeper_Leases_EndWhenTheirTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newKeyState()
		h := keeping(t, s, &bytes.Buffer{})
		h.keyLeases.follow(true)
		synctest.Wait()
		if s.begins() != 0 || h.keyLeases.pause() != time.Hour {
			t.Fatalf("without leases it began %d reigns and waits %v", s.begins(), h.keyLeases.pause())
		}
		one, two, three := lease(1, 2*time.Second), lease(2, 3*time.Second), lease(3, 4*time.Second)
		s.add(one)
		h.keyLeases.event(&one) // wakes it; the reign begins with the lease
		synctest.Wait()
		if s.begins() != 1 {
			t.Fatalf("%d reigns", s.begins())
		}
		s.add(two)
		h.keyLeases.event(&two) // by its event
		time.Sleep(5 * time.Second)
		s.add(three)
		h.keyLeases.follow(true) // by the state, as after events that were missed
		gone := two
		gone.ID, gone.Ended = 7, true
		h.keyLeases.event(&gone) // of one that it never had
		time.Sleep(10 * time.Second)
		for id, want := range map[uint64]time.Duration{1: 2 * time.Second, 2: 3 * time.Second, 3: 9 * time.Second} {
			if at := s.endedAt(id); at < want || at > want+time.Second {
				t.Errorf("lease %d ended after %v, must end after %v", id, at, want)
			}
		}
		if s.begins() != 1 || h.keyLeases.pause() != time.Hour {
			t.Errorf("%d reigns, and it waits %v for nothing", s.begins(), h.keyLeases.pause())
		}
	})
}

// A lease that its holder has ended is forgotten by its event, and nobody ends it again.
func TestKeyKeeper_HolderEndsALease_ItIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := lease(1, 2*time.Second)
		s := newKeyState(one)
		h := keeping(t, s, &bytes.Buffer{})
		h.keyLeases.follow(true)
		synctest.Wait()
		s.locked(func() { s.leases = nil })
		one.Ended = true
		h.keyLeases.event(&one)
		time.Sleep(time.Minute)
		if s.endedAt(1) != 0 || h.keyLeases.pause() != time.Hour {
			t.Errorf("it was ended again after %v, and the keeper waits %v", s.endedAt(1), h.keyLeases.pause())
		}
	})
}

// While no reign has begun, a word for a lease waits: for the reign, for the end of its context, or for the end of the head.
func TestKeyKeeper_NoReignYet_WordsWait(t *testing.T) {
	type answer struct {
		reign uint64
		kept  bool
		err   error
	}
	synctest.Test(t, func(t *testing.T) {
		s := newKeyState(lease(1, time.Minute))
		s.fails = []error{errDisk, errDisk}
		var log bytes.Buffer
		h := keeping(t, s, &log)
		h.keyLeases.follow(true)
		synctest.Wait()
		wait, reign, kept, err := h.keyLeases.tryKeep(1)
		again, _, _, _ := h.keyLeases.tryKeep(1)
		if wait == nil || wait != again || reign != 0 || kept || err != nil {
			t.Fatalf("it says %v, %v, %d, %v, %v", wait, again, reign, kept, err)
		}
		keep := func(ctx context.Context) chan answer {
			got := make(chan answer, 1)
			go func() {
				reign, kept, err := h.keyLeases.keep(ctx, 1)
				got <- answer{reign, kept, err}
			}()
			return got
		}
		ctx, cancel := context.WithCancel(t.Context())
		given, waits := keep(ctx), keep(t.Context())
		synctest.Wait()
		cancel()
		if a := <-given; a != (answer{0, false, context.Canceled}) {
			t.Errorf("a context that ended: %+v", a)
		}
		begun := time.Now()
		if a := <-waits; a != (answer{101, true, nil}) || time.Since(begun) != 2*retryReign {
			t.Errorf("after two failures: %+v, %v later", a, time.Since(begun))
		}
		if n := strings.Count(log.String(), "the time of leases of keys is not counted yet"); n != 2 {
			t.Errorf("%d complaints: %s", n, log.String())
		}
		log.Reset()
		h.keyLeases.follow(false)
		s.locked(func() { s.fails = []error{record.ErrClosed, record.ErrClosed} })
		h.keyLeases.follow(true) // it has led again: the reign before does not count any more
		synctest.Wait()
		closing := keep(t.Context())
		synctest.Wait()
		h.cancel()
		if a := <-closing; a != (answer{0, false, record.ErrClosed}) {
			t.Errorf("a head that was closed: %+v", a)
		}
		if log.Len() > 0 {
			t.Errorf("it complains of a state that closes: %s", log.String())
		}
	})
}

// The head has lost its reign to another one: it ends nothing and begins anew, if it leads. A former reign that is lost changes nothing.
func TestKeyKeeper_AnotherReign_ItBeginsAnewWithTheWholeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newKeyState(lease(1, 2*time.Second), lease(2, 2*time.Second))
		h := keeping(t, s, &bytes.Buffer{})
		h.keyLeases.follow(true)
		time.Sleep(time.Second)
		s.locked(func() { s.reign = 500 })
		h.keyLeases.dethroned(7) // not the present one
		synctest.Wait()
		if s.begins() != 1 {
			t.Errorf("%d reigns", s.begins())
		}
		time.Sleep(time.Minute) // the ends after 2 s are refused, and the reign begins that gives each lease 2 s again
		for id := range uint64(2) {
			if at := s.endedAt(id + 1); at < 4*time.Second || at >= 4*time.Second+retryReign {
				t.Errorf("lease %d ended after %v", id+1, at)
			}
		}
		if s.begins() != 2 || s.KeyReign() != 501 {
			t.Errorf("%d reigns, the last one is %d", s.begins(), s.KeyReign())
		}
	})
}

func TestEndKeyLease_StateFails_SaysSoUnlessItCloses(t *testing.T) {
	var log bytes.Buffer
	s := newKeyState()
	h := quietHead(s, &log)
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx     context.Context
		err     error
		another bool
		says    bool
	}{
		"ended": {t.Context(), nil, false, false}, "another reign": {t.Context(), record.ErrStale, true, false},
		"full disk": {t.Context(), errDisk, false, true}, "state closes": {t.Context(), record.ErrClosed, false, false},
		"head closes": {ended, errDisk, false, false},
	} {
		log.Reset()
		s.set(&s.endFails, c.err)
		if another := h.endKeyLease(c.ctx, 4, s.reign); another != c.another || (log.Len() > 0) != c.says {
			t.Errorf("%s: another %v, and it says %q", name, another, log.String())
		}
	}
}

// A read that may be old is none, and a word that is not confirmed keeps nothing.
func TestKeys_NotFresh_NothingIsAnsweredOrKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newKeyState(lease(1, time.Minute))
		h := keeping(t, s, &bytes.Buffer{})
		h.keyLeases.follow(true)
		if kept, err := h.KeepKeyLease(t.Context(), 1); !kept || err != nil {
			t.Fatalf("kept %v, %v", kept, err)
		}
		if p, found, err := h.ReadKey(t.Context(), "a"); !found || err != nil || p.Version != 3 {
			t.Errorf("a key: %+v, %v, %v", p, found, err)
		}
		if l, err := h.ListKeys(t.Context(), "a"); err != nil || len(l.Pairs) != 2 {
			t.Errorf("keys: %+v, %v", l, err)
		}
		s.set(&s.fresh, errDisk)
		if kept, err := h.KeepKeyLease(t.Context(), 1); kept || !errors.Is(err, errDisk) {
			t.Errorf("kept %v, %v", kept, err)
		}
		if p, found, err := h.ReadKey(t.Context(), "a"); found || !errors.Is(err, errDisk) || p.Version != 0 {
			t.Errorf("a key: %+v, %v, %v", p, found, err)
		}
		if l, err := h.ListKeys(t.Context(), "a"); !errors.Is(err, errDisk) || len(l.Pairs) != 0 {
			t.Errorf("keys: %+v, %v", l, err)
		}
		s.set(&s.fresh, nil)
		if p, found, err := h.ReadKey(t.Context(), ""); found || fault.CodeOf(err) != fault.BadRequest || p.Version != 0 {
			t.Errorf("an empty key: %+v, %v, %v", p, found, err)
		}
		long := strings.Repeat("k", record.MaxKeyBytes+1)
		if l, err := h.ListKeys(t.Context(), long); fault.CodeOf(err) != fault.BadRequest || len(l.Pairs) != 0 {
			t.Errorf("a long prefix: %+v, %v", l, err)
		}
	})
}
