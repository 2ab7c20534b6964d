package ids

import (
	"bytes"
	"strings"
	"testing"
)

func TestObject_PartsComeBack(t *testing.T) {
	w := NewWorkerOn(1)
	id := NewObject(7, w.Owner(), JobOf(3), 2)
	if id.Count() != 7 || id.Owner() != w.Owner() || id.Index() != 2 {
		t.Errorf("got count %d, owner %s, index %d", id.Count(), id.Owner(), id.Index())
	}
	if want := "0000000000000007" + w.Owner().String() + "0000000300000002"; id.String() != want {
		t.Errorf("got %s, want %s", id, want)
	}
	var task Task
	copy(task[:], id[:])
	if task.Count() != 7 || !strings.HasPrefix(id.String(), task.String()) {
		t.Errorf("task %s of object %s has count %d", task, id, task.Count())
	}
	if !bytes.Equal(w[:OwnerSize], id[8:20]) || !strings.HasPrefix(w.String(), id.Owner().String()) {
		t.Errorf("worker %s owns as %s", w, id.Owner())
	}
}

// Results of one task follow each other, in number and in index; the rest of the id is theirs all.
func TestObject_Sibling(t *testing.T) {
	w := NewWorkerOn(1)
	for n := range 3 {
		if got, want := NewObject(7, w.Owner(), JobOf(3), 2).Sibling(n), NewObject(7+uint64(n), w.Owner(), JobOf(3), 2+uint32(n)); got != want {
			t.Errorf("sibling %d is %s, want %s", n, got, want)
		}
	}
}

func TestString_IsHex(t *testing.T) {
	if (Task{0xab}).String()[:4] != "ab00" || (Node{0xab}).String()[:4] != "ab00" || (Owner{0xab}).String()[:4] != "ab00" {
		t.Error("an id is not written as hex digits")
	}
}

func TestNew_IdsAreRandom(t *testing.T) {
	if x, y := NewNode(), NewNode(); x == y {
		t.Errorf("two new nodes are both %s", x)
	}
	if x, y := NewWorkerOn(1), NewWorkerOn(1); x == y {
		t.Errorf("two new workers are both %s", x)
	}
	a, b := NewActor(JobOf(5)), NewActor(JobOf(5))
	if a == b || !strings.HasSuffix(a.String(), JobOf(5).String()) || NewNode().String() == (Node{}).String() {
		t.Errorf("actors %s and %s of job %s", a, b, JobOf(5))
	}
}

func TestNewWorkerOn_NumberIsFirst_RestIsRandom(t *testing.T) {
	for _, node := range []uint32{0, 1, 0x01020304, 1<<32 - 1} {
		x, y := NewWorkerOn(node), NewWorkerOn(node)
		if x.Owner().Node() != node || y.Owner().Node() != node {
			t.Errorf("workers of node %d are on %d and %d", node, x.Owner().Node(), y.Owner().Node())
		}
		if bytes.Equal(x[4:OwnerSize], y[4:OwnerSize]) || bytes.Equal(x[OwnerSize:], y[OwnerSize:]) {
			t.Errorf("two workers are %s and %s", x, y)
		}
		if x.Owner().IsDaemon() {
			t.Errorf("worker %s is taken for a daemon", x)
		}
	}
	if o := NewWorkerOn(0x01020304).Owner(); o.String()[:8] != "01020304" {
		t.Errorf("the owner %s does not begin with its node's number", o)
	}
}

func TestDaemonOn_NamesTheDaemonOnly(t *testing.T) {
	o := DaemonOn(0x01020304)
	if o != (Owner{1, 2, 3, 4}) || o.Node() != 0x01020304 || !o.IsDaemon() {
		t.Errorf("the daemon of node %d is %s", o.Node(), o)
	}
	for i := nodeNumberSize; i < OwnerSize; i++ {
		x := o
		x[i] = 1
		if x.IsDaemon() || x.Node() != o.Node() {
			t.Errorf("%s is taken for the daemon of node %d", x, x.Node())
		}
	}
}

func TestParseObject_OnlyTheRightLength(t *testing.T) {
	want := NewObject(1, NewWorkerOn(1).Owner(), JobOf(1), 0)
	if got, err := ParseObject(want[:]); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, n := range []int{0, ObjectSize - 1, ObjectSize + 1} {
		if _, err := ParseObject(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are taken for an object's id", n)
		}
	}
}
