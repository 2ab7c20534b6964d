package daemon

import (
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
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
func TestStoreEvents_Warn_ReachesTheDriver(t *testing.T) {
	d, j := opened(t)
	m := storeEvents{d}
	driver, got := listening(t)
	waits := &client{pid: 7}
	m.Warn(waits, "nobody hears it") // a tool has no job
	waits.job = j
	m.Warn(waits, "nobody hears it") // and a job may have lost its driver
	j.driver = driver
	m.Warn(waits, "it waits for a disk")
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
	j.Job = workers.NewJob(j.ID, workers.NewSink(func(ls []wire.LogLine) {
		for _, l := range ls {
			lines <- l
		}
	}, func() int { return 0 }))
	defer j.Sink.Close()
	m.Warn(waits, "it waits on")
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
