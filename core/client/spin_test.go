package client

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waits tells of a row of waits which begin with looking.
func waits(s *spinner, n int) (looks []int) {
	for i := range n {
		if s.wanted() {
			looks = append(looks, i)
			s.missed(spinAtLeast)
		}
	}
	return looks
}

func TestSpinner_VainLooks_GetRarerToALimit(t *testing.T) {
	var s spinner
	looks := waits(&s, 1000)
	for i, gap := range []int{2, 4, 8, 16, 32, 64, 64, 64} {
		if got := looks[i+1] - looks[i]; got != gap {
			t.Errorf("look %d came %d waits after the one before, want %d", i+1, got, gap)
		}
	}
}

func TestSpinner_OneThatWasNotVain_TheNextWaitLooksToo(t *testing.T) {
	s := spinner{misses: spinMisses}
	for range 3 {
		if !s.wanted() {
			t.Fatal("no look after one that was not vain")
		}
		s.found()
	}
	s.missed(spinAtLeast)
	if looks := waits(&s, 10); len(looks) == 0 || looks[0] != 1 {
		t.Errorf("after one vain look waits %v look, want the second first", looks)
	}
}

func TestPlan_WhatMayTakeLong_Sleeps(t *testing.T) {
	looks := func(change func(c *Client)) bool {
		c := &Client{leader: newWaiter()}
		change(c)
		w := c.plan(-1)
		return w.look > 0
	}
	if got := looks(func(*Client) {}); got != (cpus > 1) {
		t.Errorf("a wait for one answer looks: %v, want %v", got, cpus > 1)
	}
	for what, change := range map[string]func(c *Client){
		"many calls are under way": func(c *Client) { c.inflight = spinCalls + 1 },
		"the last look was vain":   func(c *Client) { c.spinner.missed(spinAtLeast) },
	} {
		if looks(change) {
			t.Errorf("it looks where %s", what)
		}
	}
	c := &Client{leader: newWaiter()}
	if w := c.plan(0); w.look > 0 || !c.spinner.wanted() {
		t.Error("a wait of no time looks, or counts")
	}
}

func TestLook_SeesWhatComesAndEndsSoon(t *testing.T) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(bell)
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(bell)}); err != nil {
		t.Fatal(err)
	}
	c := &Client{epoll: epoll}
	began := time.Now()
	if n := c.look(spinAtLeast); n != 0 || time.Since(began) < spinAtLeast || c.spinner.misses != 1 {
		t.Errorf("nothing comes: %d events after %v, %d misses", n, time.Since(began), c.spinner.misses)
	}
	if _, err := unix.Write(bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if n := c.look(spinAtLeast); n != 1 || int(c.events[0].Fd) != bell || c.spinner.misses != 0 {
		t.Errorf("the bell rang: %d events, of %d, %d misses", n, c.events[0].Fd, c.spinner.misses)
	}
}
