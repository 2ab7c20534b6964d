package workers

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An order that is refused stays the caller's, with its descriptors: so a
// refusal must be told, when the queue is full as when the zygote is closed.
func TestZygote_Fork_RefusesWhenFullAndWhenClosed(t *testing.T) {
	z := NewZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", nil)
	for n := range MaxOrders {
		if !z.Fork(ForkOrder{Token: "t"}) {
			t.Fatalf("order %d of %d is refused", n, MaxOrders)
		}
	}
	if z.Fork(ForkOrder{Token: "one too many"}) {
		t.Error("an order beyond the queue's room is taken")
	}
	<-z.orders
	if !z.Fork(ForkOrder{Token: "t"}) {
		t.Error("an order is refused though there is room again")
	}
	<-z.orders
	z.mu.Lock()
	z.dead = true
	z.mu.Unlock()
	if z.Fork(ForkOrder{Token: "late"}) {
		t.Error("a closed zygote takes an order")
	}
}

func TestZygote_Close_KeepsTheFirstReason(t *testing.T) {
	z := NewZygote(&wire.EnvSpec{}, ids.JobOf(1), "", "", nil)
	z.Close("the job is over")
	z.Close("another reason")
	select {
	case <-z.stop:
	default:
		t.Fatal("closing does not stop it")
	}
	if z.why != "the job is over" {
		t.Errorf("it says %q", z.why)
	}
}
