package place

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// A node that wants leases of more and more classes is refused at some point, and goes on when some have ended.
func TestWant_TooManyClasses_IsRefused(t *testing.T) {
	m := New(Options{})
	m.NodeUp(1)
	say := func(class uint32, n int) error {
		return m.Want(Key{1, 1, class}, Want{Job: ids.JobOf(1), Needs: []resource.Set{{"CPU": resource.Unit}}, N: n})
	}
	for i := range uint32(MaxWants) {
		if err := say(i, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := say(MaxWants, 1); err == nil || !strings.Contains(err.Error(), "node 1 want leases of more than 100000 classes: class 1/1/100000") {
		t.Errorf("got %v", err)
	}
	if err := say(0, 0); err != nil {
		t.Error(err)
	}
	if err := say(MaxWants, 1); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	m.NodeUp(1)
	if s := m.Sizes(); s["wants"] != 0 || m.nodes[1].wants != 0 {
		t.Errorf("after a new connection: %v", s)
	}
}

// Jobs and processes come and go: the table of their turns does not grow with them.
func TestWant_ManyJobsOneAfterTheOther_FewTurnsAreKept(t *testing.T) {
	m := New(Options{})
	m.NodeUp(1)
	for i := range uint32(5000) {
		for _, n := range []int{1, 0} {
			if err := m.Want(Key{1, uint64(i), 1}, Want{Job: ids.JobOf(i), Needs: []resource.Set{{"CPU": resource.Amount(i)}}, N: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := m.Sizes(); s["turns"] > 2*keptTurns || s["needs"] > keptNeeds || s["wants"] != 0 || len(m.unjudged) > 2 {
		t.Errorf("left: %v", s)
	}
}

// A need that is wanted stays in its table while many others come and go, also one that was not wanted for a while, or
// is wanted by fewer.
func TestNeeds_ManyOthersComeAndGo_WantedOnesStay(t *testing.T) {
	m := New(Options{})
	m.NodeUp(1)
	m.NodeUp(2)
	say := func(class uint32, n int, need resource.Set) {
		t.Helper()
		if err := m.Want(Key{1, 1, class}, Want{Job: ids.JobOf(1), Needs: []resource.Set{need}, N: n}); err != nil {
			t.Fatal(err)
		}
	}
	again, fewer := resource.Set{"again": 1}, resource.Set{"fewer": 1}
	for _, n := range []int{1, 0, 1} {
		say(1, n, again)
	}
	say(2, 1, fewer)
	say(3, 1, fewer)
	say(3, 0, fewer)
	for i := range uint32(3 * keptNeeds) {
		for _, n := range []int{1, 0} {
			say(10+i, n, resource.Set{"other": resource.Amount(i + 1)})
		}
	}
	stock := resource.Set{"again": 1, "fewer": 1}
	if err := m.Report(2, resource.Stock{Totals: stock, Free: stock}); err != nil {
		t.Fatal(err)
	}
	if offers := m.Actions(); len(offers) != 2 {
		t.Errorf("two are wanted and have room: %v", offers)
	}
}

// What becomes infeasible at once is said in the order in which it began to wait.
func TestInfeasible_ManyAtOnce_AreSaidInOrder(t *testing.T) {
	m := New(Options{})
	m.NodeUp(1)
	const n = 50
	for i := range uint32(n) {
		if err := m.Want(Key{1, uint64(i*7%n) + 1, i}, Want{Job: ids.JobOf(1), Needs: []resource.Set{{"b": 1}}, N: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Report(1, resource.Stock{}); err != nil {
		t.Fatal(err)
	}
	said := m.Actions()
	if len(said) != n {
		t.Fatalf("%d of %d wants are said to be infeasible", len(said), n)
	}
	for i, a := range said {
		if key := a.(Infeasible).To; key.Class != uint32(i) {
			t.Fatalf("%s is said as number %d", key, i)
		}
	}
}

// A need that nobody wants is kept for a while, because it mostly comes again.
func TestNeeds_NotWantedAnyMore_AreKept(t *testing.T) {
	m := New(Options{})
	m.NodeUp(1)
	for i := range uint32(10) {
		for _, n := range []int{1, 0} {
			if err := m.Want(Key{1, 1, i}, Want{Job: ids.JobOf(1), Needs: []resource.Set{{"x": resource.Amount(i + 1)}}, N: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := m.Sizes()["needs"]; n != 10 {
		t.Errorf("%d of 10 needs are kept", n)
	}
}

// The options replace the constants.
func TestNew_Options_AreUsed(t *testing.T) {
	m := New(Options{PackTo: 0.9, TicketFor: 5, RefusedPause: 3, FirstTicket: 100})
	for n, free := range map[Node]resource.Amount{1: 0, 2: 4, 3: 10} {
		m.NodeUp(n)
		if err := m.Report(n, resource.Stock{Totals: resource.Set{"CPU": 10}, Free: resource.Set{"CPU": free}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Want(Key{1, 1, 1}, Want{Job: ids.JobOf(1), Needs: []resource.Set{{"CPU": 1}}, N: 1}); err != nil {
		t.Fatal(err)
	}
	o := m.Actions()[0].(Offer)
	if o.Node != 2 || o.Ticket != 100 { // the one that is fuller, although it is more than half full
		t.Errorf("got %s", o)
	}
	if at, ok := m.Next(); at != 5 || !ok {
		t.Errorf("the offer ends at %v", at)
	}
	if err := m.Settled(2, o.Ticket, 0, &resource.Stock{Totals: resource.Set{"CPU": 10}}); err != nil {
		t.Fatal(err)
	}
	if at, ok := m.Next(); at != 3 || !ok {
		t.Errorf("the pause ends at %v", at)
	}
}
