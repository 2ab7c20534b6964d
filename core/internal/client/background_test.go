package client

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lend is the background poller's thread as a program gives it, in Go.
func lend(b *transport.Background) bool {
	go serve(b, func(*transport.Pause) {})
	return true
}

// serve is such a thread; told sees each pause before it begins.
func serve(b *transport.Background, told func(*transport.Pause)) {
	ring := func(p transport.Pause) {
		fds := []unix.PollFd{{Fd: int32(b.Bell), Events: unix.POLLIN}, {Fd: int32(b.Epoll), Events: unix.POLLIN}}
		timeout := int(p.Quiet / time.Millisecond)
		switch p.Mode {
		case transport.ModeWait:
			fds, timeout = fds[:1], -1
		case transport.ModeRest:
			fds = fds[:1]
		}
		for {
			if _, err := unix.Poll(fds, timeout); err != unix.EINTR {
				break
			}
		}
		if fds[0].Revents != 0 {
			var n [8]byte
			_, _ = unix.Read(b.Bell, n[:])
		}
	}
	p := transport.Pause{}
	for told(&p); p.Mode != transport.ModeEnd; told(&p) {
		if p.Mode == transport.ModeNap {
			b.Nap(p)
		} else {
			ring(p)
		}
		p = b.Turn()
	}
}

// watched is a driver whose background poller the test watches.
func (d *fakeDaemon) watched() (*Client, *atomic.Int32, *atomic.Int32) {
	d.t.Helper()
	var turns, mode atomic.Int32
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Background: func(b *transport.Background) bool {
		go serve(b, func(p *transport.Pause) {
			mode.Store(int32(p.Mode))
			turns.Add(1)
		})
		return true
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		c.Close(time.Second)
		// Close waits for the last turn, and the thread notes the mode just after it.
		d.eventually("the background poller of a closed session ends", func() bool { return mode.Load() == transport.ModeEnd })
	})
	return c, &turns, &mode
}

// The background poller reads answers that nobody waits for. Then it waits for the bell,
// and has no further turn.
func TestBackground_AnswersThatNobodyReads_AreReadAndItWaits(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c, turns, mode := d.watched()
	tm := template(t, c, "f")
	for range 3 {
		for range 100 {
			submitText(t, c, tm, "x")
		}
		d.eventually("all are answered", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.submit.Open == 0
		})
		// A turn may be under way, or the thread may not have heard its bell yet, when the last answer is there.
		d.eventually("it waits for the bell and has no turn for 60 ms", func() bool {
			before := turns.Load()
			time.Sleep(60 * time.Millisecond)
			return mode.Load() == transport.ModeWait && turns.Load() == before
		})
	}
}

// While a thread waits for a long task the background poller is not needed.
func TestBackground_SomebodyReads_Parks(t *testing.T) {
	d := startDaemon(t)
	goOn := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		<-goOn
		echo(c, it)
	})
	c, _, mode := d.watched()
	id := submitText(t, c, template(t, c, "f"), "x")
	got := make(chan string)
	go func() { got <- get(t, c, id) }()
	d.eventually("somebody reads", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.poller.Led()
	})
	d.eventually("it waits for the bell", func() bool { return mode.Load() == transport.ModeWait })
	close(goOn)
	if s := <-got; s != "x" {
		t.Errorf("got %q, want x", s)
	}
}

// While tasks of some length run, nothing looks at a worker's sockets. Those that a
// task submits and does not wait for run one after the other all the same.
func TestBackground_WorkerComputes_RestsAndWhatItSubmitsRuns(t *testing.T) {
	d := startDaemon(t)
	const tasks, nested = 5, 50
	var rests, ran atomic.Int32
	all := make(chan struct{}, tasks) // of those that one task submitted have run
	lent := func(b *transport.Background) bool {
		go serve(b, func(p *transport.Pause) {
			if p.Mode == transport.ModeRest {
				rests.Add(1)
				p.Quiet = time.Minute // the bell alone ends it
			}
		})
		return true
	}
	_, err := d.workerWith(Options{Token: "t", Background: lent}, func(c *Client, it *Item) {
		for end := time.Now().Add(usually); time.Now().Before(end); { // computes
		}
		if textOf(it) == "submits" {
			ran.Store(0)
			inner := template(t, c, "inner")
			for range nested {
				submitText(t, c, inner, "nested")
			}
			select {
			case <-all:
			case <-time.After(60 * time.Second):
				t.Errorf("%d of the %d tasks that a task submitted have begun beside it", ran.Load(), nested)
			}
		}
		echo(c, it)
	})
	if err != nil {
		t.Fatal(err)
	}
	c := d.driver()
	tm := template(t, c, "f")
	for range 4 * tasks {
		get(t, c, submitText(t, c, tm, "x"))
	}
	if rests.Load() == 0 {
		t.Errorf("the background poller does not rest while tasks of %v run", usually)
	}
	d.worker(func(c *Client, it *Item) {
		if ran.Add(1) == nested {
			all <- struct{}{}
		}
		echo(c, it)
	})
	for range tasks {
		get(t, c, submitText(t, c, tm, "submits"))
	}
}

// A program that lends no thread has a background poller in a goroutine.
func TestBackground_NoThreadLent_AnswersAreRead(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	asked := false
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Background: func(*transport.Background) bool {
		asked = true
		return false
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(time.Second) })
	submitText(t, c, template(t, c, "f"), "x")
	d.eventually("it is answered", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Open == 0
	})
	if !asked {
		t.Error("the program was not asked for a thread")
	}
}
