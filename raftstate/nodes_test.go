package raftstate

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestNodeNumber_EachRequest_GetsItsOwnAlsoAfterASnapshot(t *testing.T) {
	m := NewMachine()
	apply := func(body Body) Result {
		r, _ := m.Apply(m.index+1, Command{Body: body})
		return r
	}
	for want := uint32(1); want <= 3; want++ {
		if r := apply(&NodeNumber{ids.Node{1}}); r.Number != want || r.Outcome != Done {
			t.Fatalf("got %+v, want number %d", r, want)
		}
	}
	var image bytes.Buffer
	if err := m.WriteSnapshot(&image); err != nil {
		t.Fatal(err)
	}
	restored, err := ReadSnapshot(&image)
	if err != nil {
		t.Fatal(err)
	}
	m = restored
	if r := apply(&NodeNumber{ids.Node{2}}); r.Number != 4 {
		t.Errorf("after the snapshot the next number is %d, want 4", r.Number)
	}
	m.lastNode = math.MaxUint32
	if r := apply(&NodeNumber{ids.Node{2}}); r.Outcome != Invalid || m.lastNode != math.MaxUint32 {
		t.Errorf("the numbers are used up, and the answer is %+v", r)
	}
	if err := (&NodeNumber{}).check(); err == nil {
		t.Error("a node without an id gets a number")
	}
}

func TestNodeNumber_RepeatedRequest_GetsTheFirstAnswer(t *testing.T) {
	m := NewMachine()
	again := Command{Request: RequestID{Client: Client{1}, Seq: 1}, Body: &NodeNumber{ids.Node{1}}}
	first, _ := m.Apply(1, again)
	second, _ := m.Apply(2, again)
	if first.Number != 1 || second.Number != 1 {
		t.Errorf("got %d, then %d", first.Number, second.Number)
	}
}

// Who leads knows the last number that was given. The state of another member may be older.
func TestLastNumber_OnlyWhoLeadsKnowsIt(t *testing.T) {
	_, members := openThree(t)
	r := reignOf(t, members)
	number, err := r.NodeNumber(t.Context(), ids.NewNode())
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range members {
		last, err := n.LastNumber()
		if n == r.Member() && (err != nil || last != number) {
			t.Errorf("the member that leads: %d, %v, want %d", last, err, number)
		}
		if n != r.Member() && !errors.Is(err, ErrNotLeader) {
			t.Errorf("member %s, which follows: %d, %v", id, last, err)
		}
	}
}
