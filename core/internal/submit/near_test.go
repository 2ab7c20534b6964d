package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// whyLostHere is why tasks of these tests fail.
var whyLostHere = fault.New(fault.NodeDied, "the node is gone")

// several returns a process of node 1 in a cluster of several nodes, with a function.
func several(t *testing.T) (*quiet, *Template) {
	t.Helper()
	q := newQuiet(t)
	me := Member{Self: ids.DaemonOn(1), Job: ids.JobOf(1), Addr: "/own", Totals: wire.Totals{CanGrow: true}}
	q.Join(me, refs.NewTable(me.Self, me.Job, me.Addr, (*quietTable)(q)))
	tm := &Template{Name: "f", FID: []byte("ffffffffffffffff"), Blob: []byte{1}, Returns: 1}
	q.addTemplate(tm)
	return q, tm
}

// lies returns an object in the store of a node.
func (q *quiet) lies(node uint32, size uint64) *refs.Object {
	o := q.table.New(0, 1)
	q.table.PutStored(o, size, false)
	q.table.SetHome(o, node)
	return o
}

// call submits a call with arguments by reference.
func (q *quiet) call(tm *Template, deps ...*refs.Object) *Task {
	x := q.NewCall(tm, 0, 0)
	for _, o := range deps {
		q.table.Pin(o)
		x.AddDependency(o)
	}
	q.MakeReturns(x, 0)
	q.Submit(x)
	return x
}

func TestApproach_LargeArguments_QueueOfTheirNode(t *testing.T) {
	q, tm := several(t)
	here, there, third := q.lies(0, 5), q.lies(2, 9), q.lies(3, 4)
	small := q.table.New(0, 1)
	q.table.PutInline(small, []byte{1}, 1)
	for _, x := range []struct {
		what string
		deps []*refs.Object
		near uint32
	}{
		{"none", nil, 0}, {"a small one", []*refs.Object{small}, 0}, {"here", []*refs.Object{here}, 1}, {"there", []*refs.Object{there, small}, 2},
		{"most bytes", []*refs.Object{here, third}, 1}, {"third", []*refs.Object{third}, 3}, {"there, the largest", []*refs.Object{third, here, there}, 2},
	} {
		k := q.call(tm, x.deps...)
		if k.Template.Near != x.near || k.Template.Class.ID != q.ByClass[k.Template.ClassKey()].ID || !k.LeaveQueue() {
			t.Errorf("%s: it waits in the queue of node %d", x.what, k.Template.Near)
		}
	}
	pending := q.table.New(0, 1)
	k := q.call(tm, pending)
	if k.Template != tm {
		t.Error("it has a queue before its argument is ready")
	}
	q.table.SetHome(pending, 3)
	q.table.Complete(pending, refs.Stored, nil, 100, false)
	if k.Template.Near != 3 {
		t.Errorf("its argument is made on node 3, and it waits in the queue of node %d", k.Template.Near)
	}
}

// A process that is alone for good has one queue for each function.
func TestApproach_OneNode_NothingIsDone(t *testing.T) {
	q, tm := several(t)
	q.Totals.CanGrow = false
	if k := q.call(tm, q.lies(0, 5), q.lies(2, 9)); k.Template != tm || len(q.AllTemplates()) != 1 {
		t.Errorf("the task is near node %d", k.Template.Near)
	}
}

// A worker of this node brings the arguments here.
func TestSendTask_WorkerHere_TheArgumentsAreHereToo(t *testing.T) {
	q, tm := several(t)
	for _, x := range []struct {
		node, want uint32
	}{{0, 1}, {3, 2}} {
		there := q.lies(2, 9)
		k := q.call(tm, there)
		l := &Lease{ID: uint64(max(x.node, 1)) << 32, Node: x.node, Class: k.Template.Class, Channel: NewChannel(&q.Submitter, "")}
		l.Channel.Pipe, l.Channel.Lease = new(silentPipe), l
		k.LeaveQueue()
		q.SendTask(l, k)
		if k := q.call(tm, there); k.Template.Near != x.want {
			t.Errorf("after a task ran on node %d the next one is to run on node %d", x.node, k.Template.Near)
		}
	}
}

// The templates for large arguments go with the function, and with their node.
func TestApproach_TemplatesGo(t *testing.T) {
	q, tm := several(t)
	two, three := q.call(tm, q.lies(2, 9)), q.call(tm, q.lies(3, 9))
	near := two.Template
	two.LeaveQueue()
	q.FailTask(two, whyLostHere)
	if q.HomeLost(2, whyLostHere); q.TemplateAt(near.ID) == near || tm.NearTo(2) != nil {
		t.Error("node 2 is lost, and its template is there")
	}
	q.RetireTemplate(tm)
	if q.TemplateAt(tm.ID) == tm || q.TemplateAt(three.Template.ID) != three.Template {
		t.Error("the function is retired: it is there, or its task has no template")
	}
	three.LeaveQueue()
	if q.FailTask(three, whyLostHere); len(q.AllTemplates()) != 0 || len(q.Classes) != 0 {
		t.Errorf("%d templates and %d classes are left", len(q.AllTemplates()), len(q.Classes))
	}
}

// A retry with more memory is a task of the function first, and goes to its arguments again when it is queued.
func TestEnlarge_TaskNearItsArguments_BothCount(t *testing.T) {
	q, tm := several(t)
	q.memory = 1 << 60
	k := q.call(tm, q.lies(2, 9))
	k.LeaveQueue()
	if !q.Enlarge(k, 100) || k.Template != tm.Larger {
		t.Fatalf("it becomes %+v", k.Template)
	}
	if q.Requeue(k); k.Template.Near != 2 || k.Template.NearTo(0) != tm.Larger || tm.Open != 0 {
		t.Errorf("it is queued near node %d, and its function counts %d open tasks", k.Template.Near, tm.Open)
	}
}
