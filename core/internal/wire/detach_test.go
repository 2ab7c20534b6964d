package wire

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns the two ends of a Unix socket.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []**net.UnixConn{&a, &b} {
		f := os.NewFile(uintptr(fds[i]), "pair")
		n, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		*c = n.(*net.UnixConn)
		t.Cleanup(func() { n.Close() })
	}
	return a, b
}

// A served connection changes hands again and again while the other end calls
// and pushes; nothing is lost, doubled or out of order.
func TestPeer_DetachedAndResumed_OtherEndDoesNotNotice(t *testing.T) {
	a, b := pair(t)
	var mu sync.Mutex
	var pushes []int
	handle := func(m *Message) {
		var n int
		if err := m.Decode(&n); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if m.Kind == Push {
			pushes = append(pushes, n)
		} else if m.Reply(-n) != nil {
			t.Errorf("call %d: not answered", n)
		}
	}
	over := make(chan struct{})
	closed := func(err error) {
		select {
		case <-over:
		default:
			t.Error("closed:", err)
		}
	}
	p := NewPeer(a, handle, closed)
	p.Start()
	other := NewPeer(b, func(*Message) {}, func(error) {})
	other.Start()

	const calls = 3000
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range calls {
				n := w*calls + i + 1
				ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
				got := 0
				if err := other.Call(ctx, TObjStats, n, &got); err != nil || got != -n {
					t.Errorf("call %d: %d, %v", n, got, err)
				}
				cancel()
				if w == 0 && other.Push(TObjSeal, i) != nil {
					t.Error("push refused")
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	hands := 0
	for live := true; live; {
		select {
		case <-done:
			live = false
		case <-time.After(300 * time.Microsecond):
			s, ok := p.Detach()
			if !ok {
				t.Fatal("closed")
			}
			if p.Push(TObjSeal, 1) == nil {
				t.Fatal("a detached peer sends")
			}
			p = Resume(a, s, handle, closed)
			if err := a.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			p.Start()
			hands++
		}
	}
	close(over)
	mu.Lock()
	defer mu.Unlock()
	if hands < 3 {
		t.Fatalf("changed hands %d times only", hands)
	}
	for i, n := range pushes {
		if i != n {
			t.Fatalf("push %d came as number %d", n, i)
		}
	}
}

func TestPeer_DetachWhileTheOtherDoesNotRead_UnsentIsKept(t *testing.T) {
	a, b := pair(t)
	p := NewPeer(a, func(*Message) {}, nil)
	p.Start()
	const n = 400
	for i := range n {
		if err := p.Push(TObjSeal, make([]byte, 8<<10+i)); err != nil {
			t.Fatal(err)
		}
	}
	s, ok := p.Detach()
	if !ok || len(s.Unsent) == 0 {
		t.Fatalf("%v, %d bytes unsent", ok, len(s.Unsent))
	}
	if err := a.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := make(chan int, n)
	NewPeer(b, func(m *Message) {
		var x []byte
		_ = m.Decode(&x)
		got <- len(x)
	}, nil).Start()
	Resume(a, s, func(*Message) {}, nil).Start()
	for i := range n {
		select {
		case x := <-got:
			if x != 8<<10+i {
				t.Fatalf("push %d has %d bytes", i, x)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("push %d did not come", i)
		}
	}
}

func TestParcel_ManyDescriptors_Arrive(t *testing.T) {
	a, b := pair(t)
	var fds []int
	for range 450 {
		f, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(f)
		fds = append(fds, f)
	}
	body := make([]byte, 1<<20)
	body[77] = 5
	go func() {
		if err := SendParcel(a, body, fds); err != nil {
			t.Error(err)
		}
	}()
	got, files, err := ReceiveParcel(b)
	if err != nil || len(got) != len(body) || got[77] != 5 || len(files) != len(fds) {
		t.Fatalf("%d bytes, %d descriptors, %v", len(got), len(files), err)
	}
	one := [8]byte{1}
	if _, err := unix.Write(fds[449], one[:]); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(int(files[449].Fd()), one[:]); n != 8 || err != nil {
		t.Fatal("the last descriptor is another one")
	}
	for _, f := range files {
		f.Close()
	}
}
