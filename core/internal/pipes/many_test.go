package pipes

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Pipes that have ended leave nothing: no descriptor, no goroutine, no entry in a table.
func TestPipe_TenThousand_LeaveNothing(t *testing.T) {
	w := newWorld(t, time.Millisecond)
	from := w.a.process()
	to, l := w.b.listens()
	go func() { // answers one line on each connection; every third connection it closes itself
		for i := 0; ; i++ {
			u, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				defer u.Close()
				if _, err := wire.ReadHello(u); err != nil {
					t.Error(err)
					return
				}
				b := make([]byte, 4)
				if _, err := io.ReadFull(u, b); err != nil {
					t.Error(err)
				}
				if _, err := u.Write(b); err != nil {
					t.Error(err)
				}
				if i%3 > 0 {
					_, _ = u.Read(b) // until the other end is closed
				}
			}()
		}
	}()
	var hellos [][]byte
	for _, role := range []string{wire.RoleLease, wire.RoleActor, wire.RoleControl} {
		b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, hello(from, role))
		if err != nil {
			t.Fatal(err)
		}
		hellos = append(hellos, append(b, "ping"...))
	}
	one := func(i int) {
		c, near := w.pair()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		w.a.pipes.Near(near, to)
		if _, err := c.Write(hellos[i%len(hellos)]); err != nil {
			t.Error(err)
		}
		b := make([]byte, 4)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "ping" {
			t.Errorf("%q, %v", b, err)
		}
	}
	one(0)
	w.over()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	const total, together = 10_000, 50
	var all sync.WaitGroup
	for g := range together {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := g; i < total && !t.Failed(); i += together {
				one(i)
			}
		}()
	}
	all.Wait()
	w.over()
	w.forgetStreams()
	eventually(t, "descriptors and goroutines are gone", func() bool { return openFiles(t) <= files && runtime.NumGoroutine() <= goroutines })
	for _, n := range []*node{w.a, w.b} {
		if len(n.pipes.ends)+len(n.pipes.of) != 0 {
			t.Errorf("node %d keeps %d ends of %d processes", n.number, len(n.pipes.ends), len(n.pipes.of))
		}
	}
}

// A process that does not read holds up its own pipe only.
func TestPipe_OneOfTenDoesNotRead_TheOthersGoOn(t *testing.T) {
	w := newWorld(t, 0)
	var callers, targets []net.Conn
	for range 10 {
		c, u, _, _ := w.joined(wire.RoleLease)
		callers, targets = append(callers, c), append(targets, u)
	}
	sent := len(fill(t, callers[0])) // until all that is between is full
	for i := 1; i < 10; i++ {
		say(t, callers[i], "question")
		hear(t, targets[i], "question")
		say(t, targets[i], "answer")
		hear(t, callers[i], "answer")
	}
	go callers[0].Close()
	got, err := io.Copy(io.Discard, targets[0])
	if err != nil || int(got) != sent {
		t.Errorf("%d of %d bytes came when it read again, %v", got, sent, err)
	}
}
