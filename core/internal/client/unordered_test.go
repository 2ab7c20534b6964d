package client

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// The calls of an actor that may run them out of order: one whose argument is late holds no other call back, and
// begins when its argument is there.
func TestUnordered_ArgumentsAreLate_LaterCallsRunAndNoneIsLost(t *testing.T) {
	d := startDaemon(t)
	var ran atomic.Int32
	d.act(0, func(_ uint64, c *Client, it *Item) {
		ran.Add(1)
		echo(c, it)
	})
	gate := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		<-gate
		echo(c, it)
	})
	c := d.driver()
	id := newActor(t, c, ActorSpec{})
	method, err := c.NewTemplate(&Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1, Unordered: true})
	if err != nil {
		t.Fatal(err)
	}
	late, _, err := c.Submit(&Call{Template: template(t, c, "late"), Args: Value{Fmt: FmtPickle, Meta: []byte("late")}})
	if err != nil {
		t.Fatal(err)
	}
	var held []ids.Object
	for i := range 100 { // before the actor's socket is open, and after
		held = append(held, callActor(t, c, id, method, fmt.Sprint("held ", i), late))
		if text, code := outcome(t, c, callActor(t, c, id, method, fmt.Sprint("free ", i))); text != fmt.Sprint("free ", i) || code != "" {
			t.Fatalf("call %d behind those whose argument is late: %q, %q", i, text, code)
		}
	}
	if err := c.Cancel(held[50], false, false); err != nil {
		t.Fatal(err)
	}
	close(gate)
	for i, ref := range held {
		if text, code := outcome(t, c, ref); i != 50 && (text != "late" || code != "") {
			t.Errorf("held call %d: %q, %q", i, text, code)
		}
	}
	if n := ran.Load(); n != 199 {
		t.Errorf("the actor has run %d calls, want 199", n)
	}
}
