package resume

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func session(t testing.TB, o Options) *Session {
	t.Helper()
	if o.Self == 0 {
		o.Self, o.Peer = 1, 2
	}
	o.Boot = uint64(o.Self) * 100
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attached returns two sessions with connection 1 between them.
func attached(t testing.TB, o Options) (a, b *Session) {
	t.Helper()
	o.Keep = true
	a = session(t, o)
	o.Self, o.Peer, o.Keep = 2, 1, false
	b = session(t, o)
	a.Advance(0)
	h, err := a.Hello(1)
	if err != nil {
		t.Fatal(err)
	}
	c, answer, err := b.Accept(h, false)
	if err != nil || c != 1 {
		t.Fatalf("connection %d: %v", c, err)
	}
	if err := a.Attach(1, answer, false); err != nil {
		t.Fatal(err)
	}
	a.Actions()
	b.Actions()
	return a, b
}

// carry brings what one session has to send to the other one.
func carry(from, to *Session, buf []byte) ([]byte, error) {
	buf = from.Next(1, buf[:0])
	for b := buf; len(b) > 0; {
		f, rest, ok, err := ParseFrame(b)
		if err != nil || !ok {
			return buf, errors.Join(err, errors.New("no whole frame"))
		}
		if err := to.Received(1, f); err != nil {
			return buf, err
		}
		b = rest
	}
	return buf, nil
}

func TestNew_WrongOptions_AreNamed(t *testing.T) {
	for want, o := range map[string]Options{
		"with itself":     {Self: 1, Peer: 1, Boot: 1},
		"boot number 0":   {Self: 1, Peer: 2},
		"window of 1":     {Self: 1, Peer: 2, Boot: 1, Window: 1},
		"bytes unsent":    {Self: 1, Peer: 2, Boot: 1, Window: 5000, MaxUnsent: 19_000},
		"must be positiv": {Self: 1, Peer: 2, Boot: 1, MaxStreams: -1},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestHello_Appended_IsParsed(t *testing.T) {
	h := Hello{From: 1, To: 2, Boot: 3, PeerBoot: 4, Replaces: 5, Have: 6, Dial: 7, Seen: 8, Window: 9}
	b := h.Append(nil)
	if got, err := ParseHello(b); got != h || err != nil || len(b) != HelloSize {
		t.Errorf("%d bytes give %+v, %v", len(b), got, err)
	}
	for i, wrong := range [][]byte{b[:HelloSize-1], append(bytes.Clone(b), 0), Hello{}.Append(nil), append([]byte{2}, b[1:]...)} {
		if _, err := ParseHello(wrong); !errors.Is(err, ErrHello) {
			t.Errorf("hello %d: %v", i, err)
		}
	}
}

func TestAccept_HelloThatDoesNotFit_IsRefused(t *testing.T) {
	good := Hello{From: 2, To: 1, Boot: 200, Dial: 1, Window: DefaultWindow}
	for name, change := range map[string]func(*Hello){
		"from another node":     func(h *Hello) { h.From = 3 },
		"to another node":       func(h *Hello) { h.To = 3 },
		"another window":        func(h *Hello) { h.Window = 100 },
		"frames never sent":     func(h *Hello) { h.Have = 1 },
		"a boot number of 0":    func(h *Hello) { h.Boot = 0 },
		"no number of the dial": func(h *Hello) { h.Dial = 0 },
		"an older session":      func(h *Hello) { h.PeerBoot = 99 },
	} {
		h := good
		change(&h)
		s := session(t, Options{})
		if _, _, err := s.Accept(h, false); !errors.Is(err, ErrHello) && !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := s.Accept(good, false); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// What no peer that keeps the rules would say. A frame that makes no sense drops the connection, a broken rule ends the session.
func TestReceived_WrongFrame_IsRefused(t *testing.T) {
	grant := func(n byte) []byte { return []byte{n, 0, 0, 0} }
	for _, c := range []struct {
		name string
		f    Frame
		want error
	}{
		{"kind 0", Frame{Number: 1}, ErrFrame},
		{"kind 6", Frame{Kind: 6, Number: 1}, ErrFrame},
		{"number 0", Frame{Kind: kindData, Body: []byte{1}}, ErrFrame},
		{"a gap", Frame{Kind: kindData, Number: 2, Body: []byte{1}}, ErrFrame},
		{"acknowledges what was not sent", Frame{Kind: kindAck, Number: 1}, ErrFrame},
		{"no data", Frame{Kind: kindData, Number: 1}, ErrFrame},
		{"too much data", Frame{Kind: kindData, Number: 1, Body: make([]byte, MaxBody+1)}, ErrFrame},
		{"a long target", Frame{Kind: kindOpen, Number: 1, Stream: 2, Body: make([]byte, MaxTarget+1)}, ErrFrame},
		{"a short grant", Frame{Kind: kindGrant, Number: 1, Body: []byte{1}}, ErrFrame},
		{"more than the window", Frame{Kind: kindData, Number: 1, Body: make([]byte, 101)}, ErrBroken},
		{"a stream that is not open", Frame{Kind: kindData, Number: 1, Stream: 2, Body: []byte{1}}, ErrBroken},
		{"opens control", Frame{Kind: kindOpen, Number: 1}, ErrBroken},
		{"opens a stream of this end", Frame{Kind: kindOpen, Number: 1, Stream: 1}, ErrBroken},
		{"ends control", Frame{Kind: kindEnd, Number: 1, Body: []byte{1}}, ErrBroken},
		{"grants nothing", Frame{Kind: kindGrant, Number: 1, Body: grant(0)}, ErrBroken},
		{"grants what was not sent", Frame{Kind: kindGrant, Number: 1, Body: grant(1)}, ErrBroken},
	} {
		a, _ := attached(t, Options{Window: 100})
		err := a.Received(1, c.f)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if lost := a.Lost() != 0; lost != (c.want == ErrBroken) || a.conn != nil {
			t.Errorf("%s: the session is lost: %v; its connection: %v", c.name, lost, a.conn)
		}
	}
}

func TestOpen_TooManyOrTooLong_IsRefused(t *testing.T) {
	a, b := attached(t, Options{MaxStreams: 2})
	for range 2 {
		if _, err := a.Open(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Open(nil); !errors.Is(err, ErrStreams) {
		t.Errorf("the third stream: %v", err)
	}
	if _, err := b.Open(make([]byte, MaxTarget+1)); !errors.Is(err, ErrTarget) {
		t.Errorf("a long target: %v", err)
	}
	if _, err := carry(a, b, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Received(1, Frame{Kind: kindOpen, Number: 3, Stream: 5}); !errors.Is(err, ErrBroken) {
		t.Errorf("the peer opens a third stream: %v", err)
	}
}

// A session that carries much gives its memory back when it rests.
func TestAdvance_SessionRests_KeepsNoBlocks(t *testing.T) {
	a, b := attached(t, Options{})
	var buf []byte
	for range 5 {
		a.Write(Control, make([]byte, 40_000))
		for range 2 {
			var err error
			if buf, err = carry(a, b, buf); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Advance(ackAfter)
	if _, err := carry(b, a, buf); err != nil {
		t.Fatal(err)
	}
	if len(a.pool.free) == 0 {
		t.Fatal("no block was used")
	}
	a.Advance(a.now + trimAfter)
	if a.unsent() != 0 || len(a.pool.free) != 0 {
		t.Errorf("%d bytes and %d blocks are kept", a.unsent(), len(a.pool.free))
	}
}

// A frame with a full body is larger than a batch. It is written alone, also when the log ends with a block.
func TestNext_FrameLargerThanABatch_IsWritten(t *testing.T) {
	a, b := attached(t, Options{})
	first := blockSize - MaxFrame%blockSize - headerSize
	for _, n := range []int{first, MaxBody} {
		if k := a.Write(Control, make([]byte, n)); k != n {
			t.Fatalf("%d bytes were taken", k)
		}
		if buf, err := carry(a, b, nil); err != nil || len(buf) != headerSize+n {
			t.Fatalf("%d bytes, %v", len(buf), err)
		}
	}
	if list := b.Actions(); len(list) != 2 || len(list[1].Bytes) != MaxBody {
		t.Errorf("%v", list)
	}
}

func TestGiveUp_EndsTheStreamsAndTheSessionOnce(t *testing.T) {
	a, _ := attached(t, Options{})
	id, err := a.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Actions()
	a.GiveUp(Broken)
	a.GiveUp(NodeDead)
	got := fmt.Sprint(a.Actions())
	if want := fmt.Sprintf("[drop 1 ended %d: broken lost: broken]", id); got != want || a.Lost() != Broken {
		t.Errorf("%s and %v, not %s", got, a.Lost(), want)
	}
}

func TestDetached_NobodyAnswers_PausesGrowUpToABound(t *testing.T) {
	for _, c := range []struct {
		keep    bool
		longest time.Duration
	}{{true, 500 * time.Millisecond}, {false, 2 * time.Second}} {
		s := session(t, Options{Keep: c.keep, Patience: time.Hour})
		s.Advance(0)
		if _, err := s.Open([]byte("x")); err != nil {
			t.Fatal(err)
		}
		now, pause := time.Duration(0), time.Duration(0)
		for range 10 {
			for _, a := range s.Actions() {
				if a.Kind == Dial {
					s.Detached(a.Conn)
				}
			}
			next, _ := s.NextTime()
			if next < now+pause {
				t.Errorf("keep %v: the pause %v follows one of %v", c.keep, next-now, pause)
			}
			now, pause = next, next-now
			s.Advance(now)
		}
		if pause != c.longest {
			t.Errorf("keep %v: the longest pause is %v, want %v", c.keep, pause, c.longest)
		}
	}
}
