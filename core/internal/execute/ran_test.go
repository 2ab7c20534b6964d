package execute

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// known is a task as a process remembers it.
type known struct {
	task   ids.Task
	tmpl   *Template
	failed bool
}

func taskNumber(n uint64) (task ids.Task) {
	id := ids.NewObject(n, ids.Owner{1, 2, 3}, ids.JobOf(4), 1)
	copy(task[:], id[:])
	return task
}

func remembered(x *ranTasks) (list []known) {
	x.each(func(task ids.Task, tmpl *Template, failed bool, _ ranTime) bool {
		list = append(list, known{task, tmpl, failed})
		return true
	})
	return list
}

func (k known) call() *Call { return &Call{Task: k.task, Tmpl: k.tmpl} }

func (k known) flags() int {
	if k.failed {
		return wire.ReplyAppError
	}
	return 0
}

func TestRanTasks_AnyOrderOfTasks_TheLatestAreRememberedLastOneFirst(t *testing.T) {
	templates := []*Template{{Name: "f"}, {Name: "g"}}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var x ranTasks
		var all []known
		tmpl, failed, number, step := templates[0], false, uint64(1), uint64(1)
		for range 1 + random.IntN(4000) {
			switch random.IntN(40) {
			case 0:
				tmpl = templates[random.IntN(len(templates))]
			case 1:
				failed = !failed
			case 2:
				step = random.Uint64N(4) // with 0 a task runs again
			case 3:
				number = random.Uint64N(1 << 20) // a lower one, too
			case 4:
				number += math.MaxUint32
			}
			number += step
			one := known{taskNumber(number), tmpl, failed}
			all = append(all, one)
			x.note(one.call(), one.flags())
		}
		slices.Reverse(all)
		want := all[:min(len(all), keptRuns)]
		if got := remembered(&x); !slices.Equal(got, want) {
			t.Fatalf("seed %d: of %d tasks the process remembers others than the latest %d", seed, len(all), len(want))
		}
	}
}

func TestRanTasks_NoTaskLikeTheOneBefore_TheLatestAreRemembered(t *testing.T) {
	templates := []*Template{{Name: "f"}, {Name: "g"}}
	var x ranTasks
	var all []known
	for n := range uint64(3 * keptRuns) {
		one := known{taskNumber(n + 1), templates[n%2], n%2 == 0}
		all = append(all, one)
		x.note(one.call(), one.flags())
	}
	slices.Reverse(all)
	if got := remembered(&x); !slices.Equal(got, all[:keptRuns]) {
		t.Error("the process remembers others than the latest tasks")
	}
}

func TestRanTasks_ManyTasksOfOneFunction_NeedOneRow(t *testing.T) {
	var x ranTasks
	tmpl := &Template{Name: "f"}
	for n := range uint64(100_000) {
		x.note(&Call{Task: taskNumber(7 + 3*n), Tmpl: tmpl}, 0)
	}
	if len(x.ring) != 1 {
		t.Errorf("tasks whose numbers are equally far apart take %d rows", len(x.ring))
	}
	if got := remembered(&x); len(got) != keptRuns || got[0].task != taskNumber(7+3*99_999) {
		t.Errorf("%d tasks are remembered, want the latest %d", len(got), keptRuns)
	}
}

func TestRanTasks_ConstructorsAndAssignments_AreNoTasks(t *testing.T) {
	var x ranTasks
	x.note(&Call{Assign: []byte{1}}, 0)
	x.note(&Call{Tmpl: &Template{Name: "A"}, Actor: &wire.ActorStart{}}, 0)
	if got := remembered(&x); len(got) != 0 {
		t.Errorf("%d tasks are remembered", len(got))
	}
}

// Go's allocator has blocks of 288 and of 320 bytes. There is a call for each task, and 32 bytes more cost each 1 %.
func TestCall_Size_FitsTheBlockOf288Bytes(t *testing.T) {
	if size := unsafe.Sizeof(Call{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 288 {
		t.Errorf("a call has %d bytes; put small fields together, or what few calls need behind a pointer", size)
	}
}

// What runs is told first, then what has run, the last one first, up to the limit. Constructors are no tasks.
func TestAddRuns_RunningFirstUpToTheLimit(t *testing.T) {
	f, m := &Template{Name: "f", Kind: frame.KindTask}, &Template{Name: "A.m", Kind: frame.KindMethod}
	w, _ := newWorker()
	w.actorID = ids.Actor{6}
	w.calls = callsOf(
		&Call{token: 1, Task: taskNumber(50), Tmpl: m},
		&Call{token: 2, Tmpl: &Template{Name: "A"}, Actor: &wire.ActorStart{}},
		&Call{token: 3, Assign: []byte{1}},
	)
	w.ran.note(&Call{Task: taskNumber(7), Tmpl: f}, 0)
	w.ran.note(&Call{Task: taskNumber(9), Tmpl: m}, wire.ReplyCancelled)
	w.ran.note(&Call{Task: taskNumber(11), Tmpl: f}, wire.ReplyAppError)
	type row struct {
		number uint64
		name   string
		state  string
		actor  bool
	}
	all := []row{{50, "A.m", wire.TaskRunning, true}, {11, "f", wire.TaskFailed, false}, {9, "A.m", wire.TaskFailed, true}, {7, "f", wire.TaskFinished, false}}
	for limit := range 6 {
		var got []row
		var census wire.ProcessCensus
		w.AddRuns(&census, limit)
		if len(census.Runs) != 3 {
			t.Errorf("%d calls run, want 3", len(census.Runs))
		}
		for _, r := range census.Ran {
			id := ids.Task(r.TaskID)
			if r.Method != (len(r.ActorID) > 0) || r.Method && ids.Actor(r.ActorID) != w.actorID {
				t.Errorf("%+v", r)
			}
			got = append(got, row{id.Count(), r.Name, r.State, r.Method})
		}
		if want := all[:min(limit, len(all))]; !slices.Equal(got, want) {
			t.Errorf("of at most %d: %v, want %v", limit, got, want)
		}
	}
}
