package client

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestBacklog_CallersAreHeld_AndNothingIsLost(t *testing.T) {
	const most, calls, callers = 1 << 20, 300, 3
	d := startDaemon(t)
	var h history
	gate := make(chan struct{})
	a := d.act(0, func(inc uint64, c *Client, it *Item) {
		<-gate
		h.add(inc, it)
		echo(c, it)
	})
	clients := []*Client{d.driver(), d.driver(), d.driver()}
	id := newActor(t, clients[0], ActorSpec{})
	d.eventually("the actor lives", func() bool { return a.alive })
	e := a.worker.exec
	a.worker.mu.Lock()
	e.LimitBacklog(most, 0)
	a.worker.mu.Unlock()
	state := func() (bytes int, full bool, queued int) {
		a.worker.mu.Lock()
		defer a.worker.mu.Unlock()
		x := e.Counts()
		return x.Backlog, x.Full, x.Waiting
	}
	pad := strings.Repeat("x", 20_000)
	results := make([][]ids.Object, callers)
	for k, c := range clients {
		if k > 0 {
			if _, err := c.OpenActor(id, "", "A", 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		tm := method(t, c, 0)
		for n := range calls {
			results[k] = append(results[k], callActor(t, c, id, tm, fmt.Sprintf("%d %d %s", k, n+1, pad)))
		}
	}
	d.eventually("callers are held", func() bool { _, full, _ := state(); return full })
	// What one read brings may come on top of it, for each caller.
	for range 20 {
		if bytes, _, queued := state(); bytes > most+callers*2*transport.ReadChunk {
			t.Fatalf("%d bytes in %d calls wait, at most %d should", bytes, queued, most)
		}
		time.Sleep(time.Millisecond)
	}
	// A cancellation comes through, of a call that was not read too, and a caller that leaves is noticed.
	if err := clients[1].Cancel(results[1][calls-1], false, false); err != nil {
		t.Fatal(err)
	}
	clients[2].Close(0)
	d.eventually("the caller that left is forgotten", func() bool {
		a.worker.mu.Lock()
		defer a.worker.mu.Unlock()
		return len(e.Callers()) == 2
	})
	close(gate)
	for k, c := range clients[:2] {
		for n, ref := range results[k] {
			want, code := fmt.Sprintf("%d %d %s", k, n+1, pad), fault.Code("")
			if k == 1 && n == calls-1 {
				want, code = "", fault.TaskCancelled
			}
			if text, got := outcome(t, c, ref); text != want || got != code {
				t.Fatalf("caller %d, call %d: %.20q, %q", k, n+1, text, got)
			}
		}
	}
	h.check(t)
	if bytes, full, queued := state(); bytes != 0 || full || queued != 0 {
		t.Errorf("after the last answer %d bytes wait in %d calls, held: %t", bytes, queued, full)
	}
}

func TestBacklog_ReleasedWhileCallersAreHeld_WhatHasArrivedRunsFirst(t *testing.T) {
	const calls = 200
	d := startDaemon(t)
	gate := make(chan struct{})
	var ran atomic.Int32
	a := d.act(0, func(_ uint64, c *Client, it *Item) {
		<-gate
		ran.Add(1)
		echo(c, it)
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	d.eventually("the actor lives", func() bool { return a.alive })
	a.worker.mu.Lock()
	a.worker.exec.LimitBacklog(100_000, 0)
	a.worker.mu.Unlock()
	tm := method(t, c, 0)
	pad := strings.Repeat("x", 30_000)
	for range calls {
		callActor(t, c, id, tm, pad)
	}
	d.eventually("the caller is held", func() bool {
		a.worker.mu.Lock()
		defer a.worker.mu.Unlock()
		return a.worker.exec.Counts().Full
	})
	d.eventually("the socket is full", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.submit.Actors[id].Channel.Full()
	})
	a.worker.mu.Lock()
	arrived := 1 + a.worker.exec.Waiting() // with the one that runs
	for _, k := range a.worker.exec.Callers() {
		in := connOf(k)
		n, err := unix.IoctlGetInt(in.FD(), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		arrived += (n + len(in.Unread())) / (len(pad) + 100)
	}
	a.worker.mu.Unlock()
	d.mu.Lock()
	p := d.peerOf[a.worker.info.Worker]
	d.mu.Unlock()
	if err := p.Push(wire.TActorStop, nil); err != nil {
		t.Fatal(err)
	}
	close(gate)
	d.eventually("the actor has ended", func() bool {
		a.worker.mu.Lock()
		defer a.worker.mu.Unlock()
		return !a.worker.exec.Going()
	})
	if n := int(ran.Load()); n < arrived {
		t.Errorf("%d calls ran before the actor ended, %d had arrived", n, arrived)
	}
}
