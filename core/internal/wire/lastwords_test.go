package wire

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/tests/await"
)

// What the other end said before it closed the connection is read, also if a write finds out first that it is closed.
func TestPeer_WriteFails_WhatCameBeforeIsReadFirst(t *testing.T) {
	here, there := pair(t)
	read, goOn := make(chan int, 2), make(chan struct{})
	p := NewPeer(here, func(m *Message) {
		var n int
		if err := m.Decode(&n); err != nil {
			t.Error(err)
		}
		read <- n
		<-goOn
	}, nil)
	p.Start()
	t.Cleanup(p.Close)
	say := func(n int) {
		b, err := AppendMessage(nil, Push, TObjSeal, 0, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := there.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	say(1)
	<-read // the second message is not in the reader's buffer yet
	say(2)
	there.Close()
	_ = p.Push(TObjSeal, 3)
	select {
	case <-p.Done():
		t.Error("the connection is closed before all is read")
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	select {
	case n := <-read:
		if n != 2 {
			t.Errorf("read %d", n)
		}
	case <-time.After(await.Limit):
		t.Error("the last message is not read")
	}
	select {
	case <-p.Done():
	case <-time.After(await.Limit):
		t.Error("the connection stays open")
	}
}
