package submit

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The leases of elsewhere, by what is known of their workers.
const (
	runs     = 2<<32 | 1 // the worker lives
	said     = 2<<32 | 2 // its daemon has said how it ended; answers may be on their way
	ended    = 2<<32 | 3 // its socket has ended; its daemon has not said how
	unopened = 2<<32 | 4
	here     = 5
)

// elsewhere returns a process with two tasks at each of three workers of node 2, which may run once, and at one of its
// own node. The first of each worker's tasks has number 1.
func elsewhere(t *testing.T) (process, map[uint64][]*Task) {
	t.Helper()
	p := newProcess(t)
	tm := &Template{Kind: frame.KindTask, Name: "f", FID: []byte("sixteen bytes id"), Blob: []byte("code"), Returns: 1, Resources: map[string]int64{"CPU": 1}}
	p.addTemplate(tm)
	at := map[uint64][]*Task{}
	for _, id := range []uint64{runs, said, ended, here} {
		l := &Lease{ID: id, Node: p.away(id), Class: tm.Class, Busy: 2, Recall: true}
		p.Leases[id] = l
		l.Channel = NewChannel(&p.Submitter, "/worker")
		l.Channel.Lease, l.Channel.Pipe = l, new(silentPipe)
		for seq := uint32(1); seq <= 2; seq++ {
			x := &Task{Template: tm, Returns: 1, Seq: seq, on: l.Channel}
			p.MakeReturns(x, 0)
			o := p.table.FindOwned(x.First)
			p.table.Ref(o)
			o.SetSource(x)
			p.Count(x)
			l.Channel.sent.Add(seq, x)
			l.Channel.count(1)
			at[id] = append(at[id], x)
		}
		tm.Class.Leases = append(tm.Class.Leases, l)
	}
	tm.Class.RestoreHome(2, 3)
	p.LeaseBroken(&wire.LeaseBroken{LeaseID: said, Detail: "it was shot", Begun: 1, Known: true})
	p.Leases[ended].Channel.Gone(errors.New("the end"))
	p.Leases[unopened] = &Lease{ID: unopened, Node: 2, Class: tm.Class}
	p.pushed = nil
	t.Cleanup(func() { clear(p.Leases) })
	return p, at
}

// codes returns what has become of tasks: a fault's code, "" while they are pending.
func (p process) codes(tasks []*Task) (list []fault.Code) {
	for _, x := range tasks {
		code := fault.Code("")
		if o := p.table.FindOwned(x.First); o.State() == refs.Failed {
			code = o.Fault().Code
		}
		list = append(list, code)
	}
	return list
}

func (p process) expectCodes(t *testing.T, what string, tasks []*Task, want ...fault.Code) {
	t.Helper()
	if got := p.codes(tasks); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The own daemon lists to a successor the leases of its node. Those of other nodes are as they were: what their daemons have said
// counts, and what they have not said yet comes. What has no task goes back before.
func TestResume_LeasesOfOtherNodes_AreAsTheyWere(t *testing.T) {
	p, at := elsewhere(t)
	p.PrepareMove()
	p.expectCodes(t, "a process that ends waits for no daemon of another node, and counts nothing as begun", at[ended], "", "")
	p.pushed = nil
	p.ReturnElsewhere()
	if want := []any{wire.LeaseReturn{LeaseID: unopened}}; !reflect.DeepEqual(p.pushed, want) {
		t.Errorf("said %+v, want %+v", p.pushed, want)
	}
	next, r := successorOf(t, p)
	r.Resume([]uint64{here})
	if nodes := r.Homes(); !slices.Equal(nodes, []uint32{2}) {
		t.Errorf("nodes %v", nodes)
	}
	for _, id := range []uint64{runs, said, ended, here} {
		next.expectCodes(t, "nothing has happened", at[id], "", "")
	}
	next.LeaseBroken(&wire.LeaseBroken{LeaseID: ended, Begun: 0, Known: true})
	next.expectCodes(t, "a worker ended, and had begun nothing", at[ended], "", "")
	next.Leases[said].Channel.Gone(errors.New("the end"))
	next.expectCodes(t, "a worker ended, and had begun its first task, as was said before", at[said], fault.WorkerCrashed, "")
	if f := next.table.FindOwned(at[said][0].First).Fault(); !strings.Contains(f.Message, "it was shot") {
		t.Error(f)
	}
	next.HomeLost(2, errors.New("it burns"))
	next.expectCodes(t, "before the socket has ended", at[runs], "", "")
	next.Leases[runs].Channel.Gone(errors.New("the end"))
	next.expectCodes(t, "a node was lost", at[runs], fault.NodeDied, fault.NodeDied)
	next.expectCodes(t, "the own node is there", at[here], "", "")
}

// A lost worker of which its node's daemon will say no more had begun all its tasks, as far as anybody knows.
func TestResume_NodeIsLostMeanwhile_AllCountAsBegun(t *testing.T) {
	p, at := elsewhere(t)
	next, r := successorOf(t, p)
	r.Resume([]uint64{here})
	next.HomeLost(2, errors.New("it burns"))
	next.expectCodes(t, "its node was lost", at[ended], fault.NodeDied, fault.NodeDied)
}

// What no process can have asked of other nodes, or lost there, is refused.
func TestRestore_HomesThatCannotBe_AreRefused(t *testing.T) {
	for words, change := range map[string]func(s *snapshot.Submitter){
		"asked for: class 9 is not part":       func(s *snapshot.Submitter) { s.Homes[0].Class = 9 },
		"node 16777216 is this node":           func(s *snapshot.Submitter) { s.Homes[0].Node = newProcess(t).Self.Node() },
		"class 0 occurs twice":                 func(s *snapshot.Submitter) { s.Homes = append(s.Homes, s.Homes[0]) },
		"its class 8 is not part":              func(s *snapshot.Submitter) { s.Lost[0].Class = 8 },
		"its class has no choice 1":            func(s *snapshot.Submitter) { s.Lost[0].Choice = 1 },
		"lease 72057594037927937: its worker ": func(s *snapshot.Submitter) { s.Lost[0].LeaseID = uint64(newProcess(t).Self.Node())<<32 | 1 },
	} {
		p, _ := elsewhere(t)
		tasks, _ := p.Snapshot()
		change(tasks)
		next := newProcess(t)
		if err := next.table.Restore(p.table.Snapshot(sameTexts{}), sameTexts{}); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Submitter.Restore(tasks); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want an error with %q", err, words)
		}
	}
}
