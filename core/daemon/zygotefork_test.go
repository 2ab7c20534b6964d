package daemon

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// An order that is refused stays the caller's, with its descriptors: so a
// refusal must be told, when the queue is full as when the zygote is closed.
func TestZygote_Fork_RefusesWhenFullAndWhenClosed(t *testing.T) {
	z := newZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", nil)
	for n := range maxOrders {
		if !z.fork(forkOrder{token: "t"}) {
			t.Fatalf("order %d of %d is refused", n, maxOrders)
		}
	}
	if z.fork(forkOrder{token: "one too many"}) {
		t.Error("an order beyond the queue's room is taken")
	}
	<-z.orders
	if !z.fork(forkOrder{token: "t"}) {
		t.Error("an order is refused though there is room again")
	}
	<-z.orders
	z.mu.Lock()
	z.dead = true
	z.mu.Unlock()
	if z.fork(forkOrder{token: "late"}) {
		t.Error("a closed zygote takes an order")
	}
}

func TestZygote_Close_KeepsTheFirstReason(t *testing.T) {
	z := newZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", nil)
	z.close("the job is over")
	z.close("another reason")
	select {
	case <-z.stop:
	default:
		t.Fatal("closing does not stop it")
	}
	if z.why != "the job is over" {
		t.Errorf("it says %q", z.why)
	}
}
