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
