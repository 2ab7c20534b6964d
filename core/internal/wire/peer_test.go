package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// soon waits for an event.
func soon[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(60 * time.Second):
		t.Fatalf("%s: nothing comes", what)
	}
	return v
}

// talk connects two running peers that are closed with the test.
func talk(t *testing.T, handle Handler) (asks, answers *Peer) {
	t.Helper()
	a, b := handshakePair(t)
	asks = NewPeer(a, func(*Message) { t.Error("who asks is asked") }, nil)
	answers = NewPeer(b, handle, nil)
	for _, p := range []*Peer{asks, answers} {
		p.Start()
		t.Cleanup(p.Close)
	}
	return asks, answers
}

func minute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Requests are answered in any order, each call gets its own answer, and
// answers to what is no request are not sent.
func TestPeer_Calls_EachGetsItsAnswer(t *testing.T) {
	var waiting []*Message
	asks, answers := talk(t, func(m *Message) {
		var n int
		if err := m.Decode(&n); err != nil {
			t.Error(err)
		}
		if m.DeadlineMs != 0 || (m.ID == 0) != (m.Kind == Push) {
			t.Errorf("kind %d has number %d and deadline %d", m.Kind, m.ID, m.DeadlineMs)
		}
		if m.Kind == Push {
			if m.Reply(1) != nil || m.Fail(errors.New("x")) != nil {
				t.Error("an answer to a push is an error")
			}
			return
		}
		if waiting = append(waiting, m); len(waiting) < 4 {
			return
		}
		for i := len(waiting) - 1; i >= 0; i-- {
			var n int
			_ = waiting[i].Decode(&n)
			if n == 2 {
				_ = waiting[i].Fail(fault.New(fault.NotFound, "no %d", n))
			} else {
				_ = waiting[i].Reply(10 * n)
			}
			_ = waiting[i].Reply("again") // nobody waits for it any more
		}
	})
	if err := asks.Push(TObjSeal, 7); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		m   *Message
		err error
	}
	var got [4]chan answer
	for i := range got {
		got[i] = make(chan answer, 9)
		asks.Go(TClusterInfo, i, func(m *Message, err error) { got[i] <- answer{m, err} })
	}
	for i, c := range got {
		a := soon(t, "an answer", c)
		if i == 2 {
			if fault.CodeOf(a.err) != fault.NotFound || !strings.Contains(a.err.Error(), "no 2") || a.m != nil {
				t.Errorf("call 2: got %v, %v", a.m, a.err)
			}
			continue
		}
		var n int
		if a.err != nil || a.m.Decode(&n) != nil || n != 10*i || a.m.Peer() != asks || a.m.Type != TClusterInfo || a.m.Kind != Reply {
			t.Errorf("call %d: got %d, %+v, %v", i, n, a.m, a.err)
		}
	}
	asks.mu.Lock()
	left := len(asks.calls)
	asks.mu.Unlock()
	if left != 0 || asks.Err() != nil || answers.Err() != nil || asks.Conn() == answers.Conn() {
		t.Errorf("%d calls are left, %v, %v", left, asks.Err(), answers.Err())
	}
}

// Call gives the answer, what it failed with, or the end of its context.
func TestPeer_Call_AnswerFaultOrEndOfItsContext(t *testing.T) {
	held := make(chan *Message, 1)
	asks, _ := talk(t, func(m *Message) {
		var s string
		_ = m.Decode(&s)
		switch s {
		case "fail":
			_ = m.Fail(errors.New("it failed"))
		case "hold":
			held <- m
		default:
			_ = m.Reply(s + "!")
		}
	})
	ctx := minute(t)
	var s string
	if err := asks.Call(ctx, TClusterInfo, "a", &s); err != nil || s != "a!" {
		t.Errorf("got %q, %v", s, err)
	}
	if err := asks.Call(ctx, TClusterInfo, "a", nil); err != nil {
		t.Error("an answer that nobody looks at:", err)
	}
	var n int
	if err := asks.Call(ctx, TClusterInfo, "a", &n); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), TClusterInfo.String()) {
		t.Errorf("an answer of another type: got %v", err)
	}
	if err := asks.Call(ctx, TClusterInfo, "fail", &s); err == nil || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("got %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- asks.Call(short, TClusterInfo, "hold", &s) }()
	m := soon(t, "the request", held)
	cancel()
	if err := soon(t, "the end of the call", over); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = m.Reply("late")
	if err := asks.Call(ctx, TClusterInfo, "b", &s); err != nil || s != "b!" {
		t.Errorf("after a late answer: got %q, %v", s, err)
	}
}

// Who closes fails the calls in flight, after it has said why; nothing more is
// sent, and nobody is called while Go runs.
func TestPeer_Close_FailsCallsAndSaysWhy(t *testing.T) {
	a, b := handshakePair(t)
	var mu sync.Mutex
	var order []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, s)
	}
	over := make(chan error, 9)
	p := NewPeer(a, nil, func(err error) {
		note("closed")
		if !errors.Is(err, ErrPeerClosed) {
			t.Errorf("closed: got %v", err)
		}
	})
	p.Start()
	defer NewPeer(b, nil, nil).Close()
	p.Go(TClusterInfo, 1, func(m *Message, err error) {
		note("call")
		if m != nil {
			t.Error("there is an answer")
		}
		over <- err
	})
	select {
	case <-p.Done():
		t.Error("an open connection is done")
	default:
	}
	p.Close()
	p.Close()
	soon(t, "done", p.Done())
	if err := soon(t, "the call's end", over); !errors.Is(err, ErrPeerClosed) || !errors.Is(p.Err(), ErrPeerClosed) {
		t.Errorf("got %v, %v", err, p.Err())
	}
	mu.Lock()
	if strings.Join(order, " ") != "closed call" {
		t.Errorf("got %v", order)
	}
	mu.Unlock()
	for what, err := range map[string]error{
		"push": p.Push(TObjSeal, 1), "push now": p.PushNow(TObjSeal, 1), "push at once": p.PushAtOnce(TObjSeal, 1),
		"call": p.Call(minute(t), TClusterInfo, 1, nil),
	} {
		if !errors.Is(err, ErrPeerClosed) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := p.Flush(minute(t)); err != nil {
		t.Errorf("flush: got %v", err)
	}
	var lock sync.Mutex // of a caller of Go that done takes, too
	lock.Lock()
	p.Go(TClusterInfo, 1, func(_ *Message, err error) {
		lock.Lock()
		defer lock.Unlock()
		over <- err
	})
	lock.Unlock()
	if err := soon(t, "the call's end", over); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("got %v", err)
	}
}

// What does not fit a message is refused, and the connection lives on.
func TestPeer_TooLarge_IsRefusedAndTheNextIsSent(t *testing.T) {
	asks, _ := talk(t, func(m *Message) { _ = m.Reply("yes") })
	large := make([]byte, MaxControl)
	for what, err := range map[string]error{
		"push": asks.Push(TObjSeal, large), "push now": asks.PushNow(TObjSeal, large), "push at once": asks.PushAtOnce(TObjSeal, large),
		"call": asks.Call(minute(t), TClusterInfo, large, nil),
	} {
		if !errors.Is(err, ErrFrameTooLarge) || !strings.Contains(err.Error(), "put them into the object store") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := asks.Push(TObjSeal, func() {}); err == nil {
		t.Error("a function is sent")
	}
	asks.mu.Lock()
	left := len(asks.calls)
	asks.mu.Unlock()
	var s string
	if err := asks.Call(minute(t), TClusterInfo, 1, &s); err != nil || s != "yes" || left != 0 {
		t.Errorf("got %q, %v; %d calls were left", s, err, left)
	}
}

// The largest message that may be sent waits whole for the socket, and one byte more is refused. The other
// end takes just as much. The message itself does not travel here: under the race detector that takes 15 s.
func TestPeer_LargestMessage_IsTakenByBothEnds(t *testing.T) {
	a, _ := handshakePair(t)
	p := NewPeer(a, nil, nil) // its writer does not run
	frame, err := AppendMessage(nil, Push, TObjSeal, 0, 0, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, MaxControl-(len(frame)-4-1<<20)+1) // one byte more than there is room for
	if err := p.Push(TObjSeal, body); !errors.Is(err, ErrFrameTooLarge) {
		t.Errorf("one byte more: got %v", err)
	}
	if err := p.Push(TObjSeal, body[:len(body)-1]); err != nil || p.Unsent() != 4+MaxControl {
		t.Errorf("the largest message: got %v, %d bytes wait, want %d", err, p.Unsent(), 4+MaxControl)
	}
	for size, want := range map[uint32]error{MaxControl: io.ErrUnexpectedEOF, MaxControl + 1: ErrFrameTooLarge} {
		a, b := handshakePair(t)
		ended := make(chan error, 1)
		p := NewPeer(b, nil, func(err error) { ended <- err })
		p.Start()
		if _, err := a.Write(append(binary.LittleEndian.AppendUint32(nil, size), 0)); err != nil {
			t.Fatal(err)
		}
		a.Close() // without the rest
		if err := soon(t, "the connection's end", ended); !errors.Is(err, want) {
			t.Errorf("a message of %d bytes that is cut off: got %v, want %v", size, err, want)
		}
		p.Close()
	}
}

// A message that needs many reads and writes arrives whole.
func TestPeer_LargeMessage_Arrives(t *testing.T) {
	got := make(chan []byte, 1)
	asks, _ := talk(t, func(m *Message) {
		var b []byte
		if err := m.Decode(&b); err != nil {
			t.Error(err)
		}
		got <- b
	})
	want := make([]byte, 2<<20+1)
	for i := range want {
		want[i] = byte(i ^ i>>8 ^ i>>16)
	}
	if err := asks.PushAtOnce(TObjSeal, want); err != nil {
		t.Fatal(err)
	}
	if b := soon(t, "the message", got); !bytes.Equal(b, want) {
		t.Errorf("%d bytes arrive, which are not the %d that were sent", len(b), len(want))
	}
}

// Who does not read is given up when more waits for it than is allowed.
func TestPeer_OtherDoesNotRead_IsGivenUp(t *testing.T) {
	a, _ := handshakePair(t)
	closed := make(chan error, 1)
	p := NewPeer(a, nil, func(err error) { closed <- err }) // its writer does not run
	frame, err := AppendMessage(nil, Push, TObjSeal, 0, 0, "x")
	if err != nil {
		t.Fatal(err)
	}
	p.out = make([]byte, MaxPending-len(frame), MaxPending)
	if err := p.Push(TObjSeal, "x"); err != nil || p.Unsent() != MaxPending {
		t.Fatalf("as much as may wait: %d bytes do, %v", p.Unsent(), err)
	}
	if err := p.Push(TObjSeal, "x"); !errors.Is(err, ErrPeerClosed) {
		t.Fatalf("got %v", err)
	}
	if err := soon(t, "the end", closed); err == nil || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("got %v", err)
	}
}

// Flush waits for what was sent, until its context ends.
func TestPeer_Flush_WaitsForWhatWasSent(t *testing.T) {
	a, b := net.Pipe() // it keeps nothing: a write ends when it is read
	p := NewPeer(a, nil, nil)
	if err := p.Flush(minute(t)); err != nil {
		t.Errorf("nothing was sent: got %v", err)
	}
	p.Start()
	defer p.Close()
	for range 3 {
		if err := p.Push(TObjSeal, "x"); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody reads: got %v", err)
	}
	var first [1]byte
	if _, err := io.ReadFull(b, first[:]); err != nil { // the writer is in the middle of a write
		t.Fatal(err)
	}
	if err := p.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("in the middle of a write: got %v", err)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- p.Flush(minute(t)) }()
	in := framer{r: io.MultiReader(strings.NewReader(string(first[:])), b)}
	for range 3 {
		if _, err := in.next(MaxControl); err != nil {
			t.Fatal(err)
		}
	}
	if err := soon(t, "everything is written", flushed); err != nil {
		t.Error(err)
	}
	// A connection that closes has nobody wait.
	if err := p.Push(TObjSeal, "x"); err != nil {
		t.Fatal(err)
	}
	go func() { flushed <- p.Flush(minute(t)) }()
	p.Close()
	if err := soon(t, "the connection is closed", flushed); err != nil {
		t.Error(err)
	}
}

// A message to somebody who reads slowly is cut by the full socket; its rest
// follows, before what is sent later.
func TestPeer_AtOnce_IntoAFullSocket_ArrivesWhole(t *testing.T) {
	a, b := handshakePair(t)
	p := NewPeer(a, nil, nil)
	p.Start()
	defer p.Close()
	const n = 60
	for i := range n {
		body := append(make([]byte, 100_000), byte(i))
		push := p.PushAtOnce
		if i%4 == 3 {
			push = p.Push
		}
		if err := push(TObjSeal, body); err != nil {
			t.Fatal(err)
		}
	}
	in := framer{r: b}
	for i := range n {
		frame, err := in.next(MaxControl)
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		m, err := ParseMessage(frame)
		if err == nil {
			err = m.Decode(&body)
		}
		if err != nil || len(body) != 100_001 || body[100_000] != byte(i) {
			t.Fatalf("message %d: %d bytes, %v", i, len(body), err)
		}
	}
}

// What makes no sense ends the connection, and the reason names it.
func TestPeer_Nonsense_EndsTheConnection(t *testing.T) {
	message := func(k Kind) []byte {
		b, err := AppendMessage(nil, k, TObjSeal, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, c := range map[string]struct {
		sent []byte
		want error
		says string
	}{
		"no frame":     {[]byte{0xff, 0xff, 0xff, 0xff}, ErrFrameTooLarge, ""},
		"no message":   {AppendFrame(nil, []byte{0xc0}), ErrBadFrame, "header"},
		"kind 0":       {message(0), ErrBadFrame, "kind 0"},
		"kind 5":       {message(5), ErrBadFrame, "kind 5"},
		"half a frame": {message(Push)[:9], io.ErrUnexpectedEOF, ""},
		"nothing":      {nil, io.EOF, ""},
	} {
		a, b := handshakePair(t)
		closed := make(chan error, 1)
		p := NewPeer(a, func(*Message) { t.Error(what, "is handled") }, func(err error) { closed <- err })
		p.Start()
		if _, err := b.Write(c.sent); err != nil {
			t.Fatal(err)
		}
		_ = b.CloseWrite()
		if err := soon(t, what, closed); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !errors.Is(p.Err(), c.want) {
			t.Errorf("%s: got %v, %v", what, err, p.Err())
		}
	}
}

// A failure whose body is no fault fails the call all the same.
func TestPeer_FailureThatIsNone_FailsTheCall(t *testing.T) {
	asks, answers := talk(t, nil)
	got := make(chan error, 1)
	asks.mu.Lock()
	asks.calls[77] = func(m *Message, err error) {
		if m != nil {
			t.Error("there is an answer")
		}
		got <- err
	}
	asks.mu.Unlock()
	if err := answers.send(Failure, TClusterInfo, 77, 0, "no fault"); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, "the call's end", got); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("got %v", err)
	}
}
