package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// An actor that ends itself has answered with a reference: it holds the object until its caller has registered it.
func TestExiting_AnswerOfAnActorIsNotConfirmed_StaysUntilItIs(t *testing.T) {
	g := startGrouped(t, nil, nil)
	c := g.a.worker
	var caller ids.Owner
	id := putBytes(t, c, 10, 1)
	c.mu.Lock()
	o := c.table.Find(id)
	c.table.Pin(o)
	answer := c.table.HoldResult(refs.TaskSocket{Caller: caller}, []*refs.Object{o})
	c.mu.Unlock()

	left := make(chan error, 1)
	go func() { left <- c.Exiting("test") }()
	stays := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.leaving != nil
	}
	for !stays() {
		select {
		case <-left:
			t.Fatal("the actor ended although an answer of it is not confirmed")
		case <-time.After(time.Millisecond):
		}
	}
	c.mu.Lock()
	c.table.Confirmed(caller, answer)
	c.mu.Unlock()
	select {
	case err := <-left:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(exitPatience - time.Second):
		t.Error("the actor stays although its answer is confirmed")
	}
}
