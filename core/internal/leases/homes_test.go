package leases

import (
	"reflect"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// at is the number of a lease of another node.
func at(node uint32, n uint64) uint64 { return uint64(node)<<32 | n }

// grantAt has another node grant a lease whose socket opens at once.
func grantAt(t *testing.T, p *pool, k *class, node uint32, n uint64) *lease {
	t.Helper()
	l := p.GrantedAt(node, &wire.LeaseGrant{ClassID: k.ID, LeaseID: at(node, n)})
	if l == nil {
		t.Fatalf("lease %d of node %d went back", n, node)
	}
	l.Opened()
	l.Channel = new(channel)
	l.Serve()
	return l
}

// opening fails the test when the class counts another number of leases that are being opened.
func opening(t *testing.T, what string, k *class, want int) {
	t.Helper()
	if k.opening != want {
		t.Errorf("%s: %d leases count as being opened, want %d", what, k.opening, want)
	}
}

// An offer lowers what the own daemon was asked for, as so many grants do, and the other node is asked instead.
func TestOffered_CountsAsGrantsThatAreBeingOpened(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 8)
	p.AdjustWant(k)
	h.said()
	if p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 3, Ticket: 7}) != k {
		t.Error("the offer is not used")
	}
	p.AdjustWant(k)
	h.says(t, "three are offered", "node 2: define 0 f", "node 2: class 0: want 3, due 0, seen 1, ticket 7")
	opening(t, "three are offered", k, 3)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 2, Ticket: 8})
	h.says(t, "two more: the node knows the class", "node 2: class 0: want 5, due 0, seen 1, ticket 8")
	grantAt(t, p, k, 2, 1)
	p.GrantedAt(2, &wire.LeaseGrant{ClassID: k.ID, LeaseID: at(2, 2)})
	opening(t, "one is open and one is not", k, 4)
	if k.Want != 3 || k.WantAt(2) != 3 || k.WantAt(3) != 0 {
		t.Errorf("the own node was asked for %d, node 2 for %d", k.Want, k.WantAt(2))
	}
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 3, N: 1, Ticket: 9})
	h.says(t, "another node", "node 3: define 0 f", "node 3: class 0: want 1, due 0, seen 1, ticket 9")
	for k.Queue.Len() > 1 {
		k.Queue.Pop()
	}
	p.AdjustWant(k)
	h.says(t, "one task is left, and a lease is being opened", "node 3: class 0: want 0, due 0, seen 1", "node 2: class 0: want 0, due 0, seen 3", "class 0: want 0, due 0, seen 7")
	opening(t, "one task is left", k, 1)
}

// Nothing waits any more, or nobody knows the class: the offer goes back, and counts all the same.
func TestOffered_NothingWaits_IsNotUsed(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 1)
	p.AdjustWant(k)
	k.Queue.Pop()
	h.said()
	if p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 7}) != nil || k.Want != 0 {
		t.Errorf("the offer is used, and %d leases are wanted", k.Want)
	}
	if p.Offered(&wire.LeaseOffer{ClassID: 99, Node: 2, N: 4, Ticket: 8}) != nil {
		t.Error("an offer for a class that is gone is used")
	}
	fill(k, 1)
	p.AdjustWant(k)
	h.says(t, "both go back", "class 0: 1 offered with ticket 7 are not used", "class 99: 4 offered with ticket 8 are not used", "class 0: want 1, due 0, seen 2")
	opening(t, "nothing is used", k, 0)
}

// A refusal lowers what the node was asked for and counts among its answers, also if what is refused was withdrawn.
func TestRefused_CountsAsAnAnswer(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 4)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 4, Ticket: 1})
	h.said()
	if p.Refused(2, &wire.LeaseRefused{ClassID: k.ID, N: 3}) != k {
		t.Error("the class is not told")
	}
	opening(t, "three of four are refused", k, 1)
	p.AdjustWant(k)
	h.says(t, "the own daemon is asked", "class 0: want 3, due 0, seen 5")
	k.Queue.While(func(*task) bool { return true })
	for k.Queue.Len() > 0 {
		k.Queue.Pop()
	}
	p.AdjustWant(k)
	h.says(t, "nothing waits", "node 2: class 0: want 0, due 0, seen 4", "class 0: want 0, due 0, seen 5")
	p.Refused(2, &wire.LeaseRefused{ClassID: k.ID, N: 1})
	opening(t, "the refusal crossed", k, 0)
	fill(k, 1)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 2})
	h.says(t, "the next want", "node 2: class 0: want 1, due 0, seen 5, ticket 2")
	if p.Refused(3, &wire.LeaseRefused{ClassID: k.ID, N: 1}) != nil || p.Refused(2, &wire.LeaseRefused{ClassID: 99, N: 1}) != nil {
		t.Error("a node that was not asked, or a class that is gone, is refused something")
	}
	opening(t, "a node that was not asked", k, 1)
}

// A grant of another node for a class that is gone, or that was not asked for there, goes back.
func TestGrantedAt_NobodyAskedForIt_GoesBack(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 1)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 1})
	h.said()
	for n, g := range map[uint32]*wire.LeaseGrant{3: {ClassID: k.ID, LeaseID: at(3, 1)}, 2: {ClassID: 99, LeaseID: at(2, 1)}} {
		if p.GrantedAt(n, g) != nil {
			t.Errorf("the lease of node %d is kept", n)
		}
	}
	if got := h.said(); len(got) != 2 || !slices.Contains(got, "return 1 of node 3") || !slices.Contains(got, "return 1 of node 2") {
		t.Errorf("%q", got)
	}
	if p.GrantedAt(2, &wire.LeaseGrant{ClassID: k.ID, LeaseID: at(2, 2), Choice: 1}) != nil {
		t.Error("a lease of a choice that does not exist is kept")
	}
	h.says(t, "it goes back", "return 2 of node 2")
	opening(t, "all went back", k, 0)
	if len(p.Leases) != 0 {
		t.Errorf("%d leases are kept", len(p.Leases))
	}
}

// Little that is not needed any more is not withdrawn: the own daemon does not hear of each task either.
func TestWithdraw_OnlyMuch(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 8)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 8, Ticket: 1})
	h.said()
	for _, left := range []int{5, 4, 1} {
		for k.Queue.Len() > left {
			k.Queue.Pop()
		}
		p.AdjustWant(k)
		switch left {
		case 5:
			h.says(t, "three of eight are not needed")
		case 4:
			h.says(t, "half is not needed", "node 2: class 0: want 4, due 0, seen 1")
		case 1:
			h.says(t, "one is needed", "node 2: class 0: want 1, due 0, seen 1")
		}
	}
	opening(t, "one is needed", k, 1)
	p.Unask(k)
	h.says(t, "the process leaves", "node 2: class 0: want 0, due 0, seen 1")
	p.Unask(k)
	h.says(t, "nothing more is wanted")
	opening(t, "nothing is wanted", k, 0)
}

// An alternative that is offered is due at the other node.
func TestOffered_OfAnAlternative_IsDueThere(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", func(t *template) { t.AfterMs, t.Fallback = 1, []*template{{}} })
	fill(k, 3)
	h.said()
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 1})
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 2, Choice: 1, Ticket: 2})
	h.says(t, "one for the first choice, two for the other", "node 2: define 0 f", "node 2: class 0: want 1, due 0, seen 1, ticket 1", "node 2: class 0: want 3, due 2, seen 1, ticket 2")
	grantAt(t, p, k, 2, 1)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 3})
	h.says(t, "one came", "node 2: class 0: want 3, due 1, seen 2, ticket 3")
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 2, Choice: 1, Ticket: 4})
	p.Refused(2, &wire.LeaseRefused{ClassID: k.ID, N: 3})
	h.said()
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 5})
	h.says(t, "three of five were refused", "node 2: class 0: want 3, due 2, seen 5, ticket 5")
}

// A lease of another node serves another class: that node learns of the class first, and counts the lease.
func TestMoveLease_OfAnotherNode(t *testing.T) {
	p, h := newPool(t)
	k, other := classOf(p, "f", nil), classOf(p, "g", nil)
	fill(k, 1)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 1})
	l := grantAt(t, p, k, 2, 1)
	k.Queue.Pop()
	p.LeaseIdle(l)
	fill(other, 3)
	p.AdjustWant(other)
	h.said()
	if p.Next(other) != l {
		t.Fatal("the lease of the other node serves nobody")
	}
	h.says(t, "node 2 did not know the class", "node 2: define 1 f", "move 1 to 1")
	if other.Want != 3 {
		t.Errorf("the own node is asked for %d leases less", 3-other.Want)
	}
	l.Sent(0)
	other.Queue.Pop()
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 2}) // nothing waits
	p.Offered(&wire.LeaseOffer{ClassID: other.ID, Node: 2, N: 2, Ticket: 3})
	h.said()
	l.Answered(1)
	fill(k, 1)
	k.Note()
	other.Note()
	p.LeaseIdle(l)
	l.Sent(0)
	l.Answered(1)
	k.Queue.Pop()
	k.Note()
	p.LeaseIdle(l)
	h.says(t, "there and back: node 2 knows both", "move 1 to 0", "move 1 to 1")
	if other.WantAt(2) != 1 {
		t.Errorf("node 2 is asked for %d leases, and gave one of two", other.WantAt(2))
	}
	opening(t, "one is coming", other, 1)
}

// The class goes at each node that knows it.
func TestDropClass_AtEachNode(t *testing.T) {
	p, h := newPool(t)
	k := classOf(p, "f", nil)
	fill(k, 2)
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 3, N: 1, Ticket: 1})
	p.Offered(&wire.LeaseOffer{ClassID: k.ID, Node: 2, N: 1, Ticket: 2})
	h.said()
	k.Templates--
	p.DropClass(k)
	h.says(t, "it goes", "class 0: want 0, due 0, seen 0", "node 3: retire 0", "node 2: retire 0")
}

// A node that is lost is asked for nothing, and its leases are named in order.
func TestLoseHome_ForgetsWhatWasAsked(t *testing.T) {
	p, h := newPool(t)
	a, b, c := classOf(p, "f", nil), classOf(p, "g", nil), classOf(p, "h", nil)
	for _, k := range []*class{a, b, c} {
		fill(k, 4)
	}
	p.Offered(&wire.LeaseOffer{ClassID: b.ID, Node: 2, N: 4, Ticket: 1})
	p.Offered(&wire.LeaseOffer{ClassID: a.ID, Node: 2, N: 3, Ticket: 2})
	p.Offered(&wire.LeaseOffer{ClassID: a.ID, Node: 3, N: 1, Ticket: 3})
	l2, l1, l3 := grantAt(t, p, a, 2, 2), grantAt(t, p, a, 2, 1), grantAt(t, p, a, 3, 1)
	own := grant(t, p, a, 1, nil)
	h.said()
	classes, lost := p.LoseHome(2)
	if !slices.Equal(classes, []*class{a, b}) || !slices.Equal(lost, []*lease{l1, l2}) {
		t.Errorf("%v of %v are lost", lost, classes)
	}
	opening(t, "two of three were granted", a, 0)
	opening(t, "nothing was granted", b, 0)
	if a.WantAt(2) != 0 || a.at(3) == nil || p.Leases[l3.ID] == nil || p.Leases[own.ID] == nil {
		t.Error("another node's leases are touched")
	}
	p.Offered(&wire.LeaseOffer{ClassID: a.ID, Node: 2, N: 1, Ticket: 4})
	h.says(t, "who has its number later knows nothing", "node 2: define 0 f", "node 2: class 0: want 1, due 0, seen 1, ticket 4")
}

// A successor goes on counting where its predecessor stopped: the other node knows the class, and has answered so often.
func TestRestoreHome_CountsGoOn(t *testing.T) {
	p, h := newPool(t)
	k := p.DefineClass(0, "f", &template{Name: "f"})
	k.Queue.Push(&task{})
	if !k.RestoreHome(2, 5) || k.RestoreHome(2, 6) {
		t.Error("a node is noted twice, or not at all")
	}
	h.pushed = nil
	p.Offered(&wire.LeaseOffer{ClassID: 0, Node: 2, N: 1, Ticket: 3})
	if want := []any{elsewhere{2, wire.TLeaseWant, wire.LeaseWant{Want: 1, Seen: 6, Ticket: 3}}}; !reflect.DeepEqual(h.pushed, want) {
		t.Errorf("said %+v, want %+v", h.pushed, want)
	}
	k.EachHome(func(node uint32, answers uint64) {
		if node != 2 || answers != 5 {
			t.Errorf("node %d has answered %d times", node, answers)
		}
	})
}
