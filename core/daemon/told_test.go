package daemon

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// listening returns a driver, and what it is sent.
func listening(t *testing.T) (*client, chan *wire.Message) {
	t.Helper()
	a, b := net.Pipe()
	got := make(chan *wire.Message, 4)
	c := &client{role: wire.RoleDriver, pid: 7, peer: wire.NewPeer(a, func(*wire.Message) {}, func(error) {})}
	there := wire.NewPeer(b, func(m *wire.Message) { got <- m }, func(error) {})
	c.peer.Start()
	there.Start()
	t.Cleanup(func() {
		c.peer.Close()
		there.Close()
	})
	return c, got
}

// What a request waits for is said among the output of its job, and to a driver
// that wants no output, too.
func TestMessenger_Told_ReachesTheDriver(t *testing.T) {
	d, j := opened(t)
	m := &messenger{d: d}
	driver, got := listening(t)
	r := &request{client: &client{pid: 7}}
	m.told(r, "nobody hears it") // a tool has no job
	r.client.job = j
	m.told(r, "nobody hears it") // and a job may have lost its driver
	j.driver = driver
	m.told(r, "it waits for a disk")
	select {
	case x := <-got:
		var b wire.LogBatch
		if err := x.Decode(&b); err != nil || x.Type != wire.TLogs || len(b.Lines) != 1 {
			t.Fatalf("the driver gets %s: %+v, %v", x.Type, b, err)
		}
		if l := b.Lines[0]; l.Text != "it waits for a disk" || l.Pid != 7 || !l.Stderr || l.Source != "daemon" {
			t.Errorf("the driver gets %+v", l)
		}
	case <-time.After(testLimit):
		t.Fatal("the driver is told nothing")
	}
	lines := make(chan wire.LogLine, 4)
	j.sink = newSink(func(ls []wire.LogLine) {
		for _, l := range ls {
			lines <- l
		}
	}, func() int { return 0 })
	defer j.sink.close()
	m.told(r, "it waits on")
	select {
	case l := <-lines:
		if l.Text != "it waits on" || l.Pid != 7 || !l.Stderr {
			t.Errorf("the output has %+v", l)
		}
	case x := <-got:
		t.Errorf("the driver gets %s beside its output", x.Type)
	case <-time.After(testLimit):
		t.Fatal("the output does not have it")
	}
}

// Of all wishes to be woken the earliest counts, and after it a later wish counts
// again.
func TestMessenger_Later_EarliestWishCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d := &Daemon{objects: newTable(4 * mib)}
		m := d.newMessenger()
		if d.tells != m {
			t.Error("the daemon does not know its messenger")
		}
		disk := &fakeDisk{t: d.objects, clock: began}
		d.objects.mover = disk
		wake := func() time.Time {
			d.mu.Lock()
			defer d.mu.Unlock()
			return m.wake
		}
		later := func(after time.Duration) {
			d.mu.Lock()
			defer d.mu.Unlock()
			m.later(after)
		}
		sleeps := func(want time.Duration) {
			t.Helper()
			at := wake()
			if at.Sub(began) != want {
				t.Errorf("it wakes after %v, want %v", at.Sub(began), want)
			}
			time.Sleep(time.Until(at) - 1)
			synctest.Wait()
			if wake().IsZero() {
				t.Error("it has woken too early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if !wake().IsZero() {
				t.Errorf("it has not woken; the next time is %v", wake().Sub(began))
			}
		}
		later(3 * time.Second)
		later(time.Second)
		later(2 * time.Second)
		sleeps(time.Second)
		later(time.Second)
		sleeps(2 * time.Second)
		later(time.Hour)
		d.mu.Lock()
		d.closing = true
		d.mu.Unlock()
		m.tick()
		if wake().IsZero() {
			t.Error("a daemon that closes looks after waiting requests")
		}
		m.stop()
		var none *messenger
		none.stop()
	})
}

// A session that spills nothing gives no orders to a disk.
func TestMemoryMover_OrdersToADisk_AreImpossible(t *testing.T) {
	for name, order := range map[string]func(){
		"written":  func() { memoryMover{}.write(nil) },
		"restores": func() { memoryMover{}.restore(nil, place{}) },
		"makes":    func() { memoryMover{}.makeFile(nil) },
		"removes":  func() { memoryMover{}.removeFile("") },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, name) {
					t.Errorf("the order gave %q, want %q in it", text, name)
				}
			}()
			order()
		}()
	}
}
