package submit

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Of another node's worker its daemon says which task it began last. When the daemon cannot say it, any task may have run.
func TestBegunOf_WorkerOfAnotherNode_ItsDaemonSays(t *testing.T) {
	c := alone()
	tasks := []*Task{{Seq: 1}, {Seq: 2}, {Seq: 3}}
	if n := c.begunOf(&Lease{ID: 2<<32 | 1, Node: 2}, tasks); n != 3 {
		t.Errorf("of another node's worker, of which nothing is known, %d of 3 tasks count as begun", n)
	}
	for last, want := range []int{0, 1, 2, 3, 3} {
		if n := c.begunOf(&Lease{ID: 2<<32 | 1, Node: 2, Begun: uint32(last), Known: true}, tasks); n != want {
			t.Errorf("of another node's worker that began task %d last, %d tasks count as begun", last, n)
		}
	}
	if n := c.begunOf(&Lease{ID: 1}, tasks); n != 1 {
		t.Errorf("of a worker of this node, which has no page, %d tasks count as begun", n)
	}
}

// A failure names the node on which the worker was.
func TestCrashFault_WorkerOfAnotherNode_NamesThatNode(t *testing.T) {
	q := newQuiet(t)
	f := q.crashFault(&Task{Template: &Template{Name: "f"}}, &Lease{Node: 2}, "it was shot")
	if !strings.Contains(f.Message, "it was shot, on node number 2") {
		t.Error(f.Message)
	}
}

// A process that leaves asks other nodes for nothing more.
func TestPrepareMove_AsksOtherNodesForNothing(t *testing.T) {
	q := newQuiet(t)
	tm := &Template{Name: "f", FID: []byte("ffffffffffffffff"), Blob: []byte{1}, Returns: 1}
	q.addTemplate(tm)
	task := &Task{Template: tm, Returns: 1}
	q.MakeReturns(task, 0)
	q.table.Ref(q.table.FindOwned(task.First))
	q.Submit(task)
	q.LeaseOffered(&wire.LeaseOffer{ClassID: tm.Class.ID, Node: 2, N: 1, Ticket: 1})
	q.pushed = nil
	q.PrepareMove()
	if want := []any{wire.LeaseWant{ClassID: tm.Class.ID, Seen: 1}}; !reflect.DeepEqual(q.pushed, want) {
		t.Errorf("the daemons hear %+v, want %+v", q.pushed, want)
	}
	if o := q.table.FindOwned(task.First); o.State() != refs.Pending {
		t.Error("the task has ended")
	}
}
