package wire

import (
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// twoEnds are the ends of a connection with descriptors.
func twoEnds(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// The writer does not run at all: what was pushed has left nevertheless.
func TestPeer_PushNow_HasLeftWhenItReturns(t *testing.T) {
	a, b := twoEnds(t)
	p := NewPeer(a, func(*Message) {}, nil)
	if err := p.PushNow(TObjSeal, ObjRef{ObjectID: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := b.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := framer{r: b}
	frame, err := in.next(MaxControl)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseMessage(frame)
	var ref ObjRef
	if err == nil {
		err = m.Decode(&ref)
	}
	if err != nil || m.Type != TObjSeal || string(ref.ObjectID) != "x" {
		t.Errorf("got %v %q, %v", m, ref.ObjectID, err)
	}
}

// Pushes of both kinds, of several threads, to one who reads slowly: all come,
// those of one thread in order.
func TestPeer_PushNow_AmongOthers_KeepsTheOrder(t *testing.T) {
	const threads, each = 4, 2000
	a, b := twoEnds(t)
	p := NewPeer(a, func(*Message) {}, nil)
	p.Start()
	t.Cleanup(p.Close)
	var next [threads]int
	all := make(chan struct{})
	got := 0
	q := NewPeer(b, func(m *Message) {
		var r map[string]int64
		if err := m.Decode(&r); err != nil {
			t.Error(err)
		}
		for who, n := range r {
			if i := int(who[0] - 'a'); int(n) != next[i] {
				t.Errorf("of %s came %d, want %d", who, n, next[i])
			} else {
				next[i]++
			}
		}
		if got++; got == threads*each {
			close(all)
		}
		if got%500 == 0 {
			time.Sleep(time.Millisecond) // the socket fills
		}
	}, nil)
	q.Start()
	t.Cleanup(q.Close)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range each {
				push := p.Push
				if n%3 == 0 {
					push = p.PushNow
				}
				if err := push(TObjSeal, map[string]int64{string(rune('a' + i)): int64(n)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	select {
	case <-all:
	case <-time.After(60 * time.Second):
		t.Fatal("not all have come")
	}
}
