package refs

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestHome_ManyNodes_TheLastOnesAreElsewhere(t *testing.T) {
	tb := NewTable(ids.DaemonOn(1), ids.JobOf(1), "own", new(recorder))
	o := tb.New(0, 1)
	for _, x := range []struct{ node, want, number uint32 }{{0, 0, 1}, {1, 0, 1}, {7, 7, 7}, {Elsewhere, Elsewhere, 0}, {0, 0, 1}} {
		if tb.SetHome(o, x.node); tb.Home(o) != x.want || tb.HomeNumber(o) != x.number {
			t.Errorf("on node %d it is on node %d, for others %d", x.node, tb.Home(o), tb.HomeNumber(o))
		}
	}
	for node := uint32(2); node < 400; node++ {
		want := node
		if node > 255 {
			want = Elsewhere
		}
		if tb.SetHome(o, node); tb.Home(o) != want {
			t.Fatalf("node %d is node %d", node, tb.Home(o))
		}
	}
	if tb.SetHome(o, 7); tb.Home(o) != 7 {
		t.Error("a node is forgotten")
	}
}

// A borrower hears of the owner where the value lies.
func TestAnswered_StoredValue_ItsHomeIsNoted(t *testing.T) {
	owner := NewTable(ids.DaemonOn(1), ids.JobOf(1), "owner", new(recorder))
	o := stored(owner, 1, 100)
	borrower := NewTable(ids.DaemonOn(5), ids.JobOf(1), "borrower", new(recorder))
	for _, x := range []struct{ at, want uint32 }{{0, 1}, {5, 0}, {9, 9}} {
		owner.SetHome(o, x.at)
		v := owner.Answer(o, ids.Node{})
		b := borrower.Borrow(o.ID, "owner")
		borrower.Forget(b)
		if borrower.Answered(o.ID, ForValue, &v, nil); b.State() != Stored || borrower.Home(b) != x.want {
			t.Errorf("it is on node %d, and the borrower hears of node %d", x.at, borrower.Home(b))
		}
	}
	b := borrower.Borrow(o.ID, "owner")
	borrower.Forget(b)
	if borrower.Answered(o.ID, ForValue, &wire.RefValue{Size: 5}, nil); borrower.Home(b) != 1 {
		t.Errorf("an older owner does not say it, and it is taken to be on node %d", borrower.Home(b))
	}
}
