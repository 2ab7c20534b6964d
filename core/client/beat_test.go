package client

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// lend is the beat's thread as a program gives it, in Go.
func lend(b *Beat) bool {
	go serve(b, func(*Pause) {})
	return true
}

// serve is such a thread; told sees each pause before it begins.
func serve(b *Beat, told func(*Pause)) {
	ring := func(p Pause) {
		fds := []unix.PollFd{{Fd: int32(b.Bell), Events: unix.POLLIN}, {Fd: int32(b.Epoll), Events: unix.POLLIN}}
		timeout := int(p.Quiet / time.Millisecond)
		switch p.Mode {
		case BeatParks:
			fds, timeout = fds[:1], -1
		case BeatRests:
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
	p := Pause{}
	for told(&p); p.Mode != BeatEnds; told(&p) {
		if p.Mode == BeatNaps {
			b.nap(p)
		} else {
			ring(p)
		}
		p = b.Turn()
	}
}

// beats is a driver whose pauses the test sees.
func (d *fakeDaemon) beats() (*Client, *atomic.Int32, *atomic.Int32) {
	d.t.Helper()
	var turns, mode atomic.Int32
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Beat: func(b *Beat) bool {
		go serve(b, func(p *Pause) {
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
		if mode.Load() != BeatEnds {
			d.t.Errorf("the session is closed and its beat in mode %d, want %d: ended", mode.Load(), BeatEnds)
		}
	})
	return c, &turns, &mode
}

// What nobody waits for is read all the same; then the beat parks, and a
// parked one is not called.
func TestBeat_AnswersThatNobodyReads_AreReadAndItParks(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c, turns, mode := d.beats()
	tm := template(t, c, "f")
	for round := range 3 {
		for range 100 {
			submit(t, c, tm, "x")
		}
		d.eventually("all are answered", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.unfinished == 0
		})
		d.eventually("it parks", func() bool { return mode.Load() == BeatParks })
		before := turns.Load()
		if time.Sleep(3 * beatQuiet); turns.Load() != before {
			t.Errorf("round %d: %d turns of a parked beat", round, turns.Load()-before)
		}
	}
}

// While somebody waits for a long task the beat is not needed.
func TestBeat_SomebodyReads_Parks(t *testing.T) {
	d := startDaemon(t)
	goOn := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		<-goOn
		echo(c, it)
	})
	c, _, mode := d.beats()
	id := submit(t, c, template(t, c, "f"), "x")
	got := make(chan string)
	go func() { got <- get(t, c, id) }()
	d.eventually("somebody reads", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.polling && c.leader != c.background
	})
	d.eventually("it parks", func() bool { return mode.Load() == BeatParks })
	close(goOn)
	if s := <-got; s != "x" {
		t.Errorf("got %q, want x", s)
	}
}

// Amid tasks of some length nothing looks at a worker's sockets. Those that a
// task submits and does not wait for run one after the other all the same.
func TestBeat_WorkerComputes_RestsAndWhatItSubmitsRuns(t *testing.T) {
	d := startDaemon(t)
	const tasks, nested = 5, 50
	var rests, ran atomic.Int32
	all := make(chan struct{}, tasks) // of those that one task submitted have run
	lent := func(b *Beat) bool {
		go serve(b, func(p *Pause) {
			if p.Mode == BeatRests {
				rests.Add(1)
				p.Quiet = time.Minute // the bell alone ends it
			}
		})
		return true
	}
	_, err := d.workerWith(Options{Token: "t", Beat: lent}, func(c *Client, it *Item) {
		for end := time.Now().Add(usually); time.Now().Before(end); { // computes
		}
		if textOf(it) == "submits" {
			ran.Store(0)
			inner := template(t, c, "inner")
			for range nested {
				submit(t, c, inner, "nested")
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
		get(t, c, submit(t, c, tm, "x"))
	}
	if rests.Load() == 0 {
		t.Errorf("the beat does not rest while tasks of %v run", usually)
	}
	d.worker(func(c *Client, it *Item) {
		if ran.Add(1) == nested {
			all <- struct{}{}
		}
		echo(c, it)
	})
	for range tasks {
		get(t, c, submit(t, c, tm, "submits"))
	}
}

// A program that lends no thread has a beat of Go's.
func TestBeat_NoThreadLent_AnswersAreRead(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	asked := false
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Beat: func(*Beat) bool {
		asked = true
		return false
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(time.Second) })
	submit(t, c, template(t, c, "f"), "x")
	d.eventually("it is answered", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.unfinished == 0
	})
	if !asked {
		t.Error("the program was not asked for a thread")
	}
}
