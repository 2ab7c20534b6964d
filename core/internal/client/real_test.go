package client

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// real is a driver of a real daemon, whose workers are processes with clients.
type real struct {
	*Client
	t    *testing.T
	s    *play.Session
	note chan string // failures that nobody has fetched
}

func startReal(t *testing.T, cpus int64) *real {
	t.Helper()
	s := play.StartWith(t, cpus, func(o *daemon.Options) {
		o.Succeed = func(u *net.UnixConn, token string) error { return Succeed(u, o.SessionDir+"/d.sock", token) }
	})
	return joinReal(t, s)
}

// joinReal joins as a driver with a job of its own.
func joinReal(t *testing.T, s *play.Session) *real {
	t.Helper()
	return joinRealWith(t, s, nil)
}

// joinRealWith is joinReal where the processes of the job have these variables.
func joinRealWith(t *testing.T, s *play.Session, env map[string]string) *real {
	t.Helper()
	r := &real{t: t, s: s, note: make(chan string, 100)}
	job := wire.JobStart{Namespace: "n", Entrypoint: "prog.py", LogToDriver: true, Env: play.Environment(t, s.Dir, "default", env)}
	var err error
	r.Client, err = Connect(Options{Socket: s.Dir + "/d.sock", Role: wire.RoleDriver, Job: job, Background: lend, Unfetched: func(text string) { r.note <- text }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(time.Second) })
	return r
}

func (r *real) template(name string, retries int, change func(*Template)) int {
	r.t.Helper()
	tm := realTemplate(name, retries)
	if change != nil {
		change(tm)
	}
	id, err := r.NewTemplate(tm)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *real) submit(name string, retries int, text string, deps ...ids.Object) ids.Object {
	r.t.Helper()
	return submitText(r.t, r.Client, r.template(name, retries, nil), text, deps...)
}

func (r *real) expect(ref ids.Object, text string, code fault.Code) {
	r.t.Helper()
	expectOutcome(r.t, r.Client, ref.String(), ref, text, code)
}

// file names a file that tasks may write to.
func (r *real) file() string { return filepath.Join(r.t.TempDir(), "f") }

// runs is how often tasks have noted a run in a file.
func runsIn(path string) int {
	b, _ := os.ReadFile(path)
	return len(b)
}

func (r *real) eventually(what string, ok func() bool) {
	r.t.Helper()
	play.Eventually(r.t, what, ok)
}

// empty lets go of all these, and waits until the store and the tables are empty.
func (r *real) empty(list ...ids.Object) {
	r.t.Helper()
	for _, id := range list {
		r.Release(Drop{Object: id})
	}
	tool := r.s.Tool()
	r.eventually("nothing is left in the store", func() bool { return tool.Stats().Objects == 0 })
	r.eventually("nothing is owned or borrowed", func() bool { owned, borrowed := r.Holds(); return owned+borrowed == 0 })
}

func TestReal_Tasks_ValuesGoThroughWorkers(t *testing.T) {
	r := startReal(t, 2)
	a := r.submit("echo", 0, "a")
	large := r.submit("large", 0, r.file(), a)
	b := r.submit("echo", 0, "", large)
	r.expect(b, "1<1048576>", "")
	r.expect(a, "a", "")
	r.empty(a, b, large)
}

func TestReal_ReferenceInAResult_LivesWhileSomebodyHoldsIt(t *testing.T) {
	r := startReal(t, 2)
	outer := r.submit("puts", 0, "x")
	said, _ := outcome(t, r.Client, outer)
	id, err := takeRef(r.Client, said)
	if err != nil {
		t.Fatal(err)
	}
	r.Release(Drop{Object: outer})
	r.expect(id, "inside x", "")
	tm := r.template("looks", 0, nil)
	looks, _, err := r.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(said), Nested: []ids.Object{id}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Release(Drop{Object: id})
	r.expect(looks, "inside x", "")
	r.empty(looks)
}

func TestReal_WorkerDies_TaskIsTriedAgainAsOftenAsItMay(t *testing.T) {
	r := startReal(t, 1)
	path := r.file()
	fails := r.submit("crash", 1, path)
	r.expect(fails, "", fault.WorkerCrashed)
	if n := runsIn(path); n != 2 {
		t.Errorf("a task with one retry ran %d times", n)
	}
	path = r.file()
	r.expect(r.submit("crash twice", 5, path), path, "")
	if n := runsIn(path); n != 3 {
		t.Errorf("it ran %d times, want 3", n)
	}
}

func TestReal_TaskRaises_IsTriedAgainWhenAsked(t *testing.T) {
	r := startReal(t, 1)
	path := r.file()
	again := submitText(t, r.Client, r.template("raise twice", 3, func(tm *Template) { tm.RetryErrs = true }), path)
	r.expect(again, path, "")
	if n := runsIn(path); n != 3 {
		t.Errorf("it ran %d times, want 3", n)
	}
	path = r.file()
	once := r.submit("raise twice", 3, path)
	f, err := r.Get(once, play.Limit)
	if err != nil || !f.IsError || runsIn(path) != 1 {
		t.Errorf("%+v, %v, after %d runs", f, err, runsIn(path))
	}
}

// A task that takes a failed one's result fails alike, and a failure that nobody looks at is told of.
func TestReal_Failures_GoOnAndAreTold(t *testing.T) {
	r := startReal(t, 2)
	fails := r.submit("raise", 0, "oh")
	f, err := r.Get(r.submit("echo", 0, "", fails), play.Limit)
	if err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "ValueError: oh") {
		t.Errorf("%+v, %v", f, err)
	}
	ignored := r.submit("raise", 0, "nobody looks")
	r.eventually("it has failed", func() bool { ready, _ := r.Ready(ignored); return ready })
	r.Release(Drop{Object: ignored})
	if text := heard(t, r.note); !strings.Contains(text, "nobody looks") {
		t.Errorf("told %q", text)
	}
	r.expect(r.submit("ignores", 0, "deep inside"), "deep inside", "")
	r.eventually("a worker says what nobody fetched there", func() bool {
		for n := r.NextNote(0); n != nil; n = r.NextNote(0) {
			if n.Log != nil && strings.Contains(n.Log.Text, "ValueError: deep inside") {
				return true
			}
		}
		return false
	})
}

func TestReal_Cancel(t *testing.T) {
	for name, force := range map[string]bool{"asked": false, "forced": true} {
		t.Run(name, func(t *testing.T) {
			r := startReal(t, 1)
			path := r.file()
			runs := r.submit("wait", 3, path)
			queued := r.submit("echo", 3, "x")
			behind := r.submit("echo", 3, "", runs)
			r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
			for _, id := range []ids.Object{queued, runs} {
				if err := r.Cancel(id, force, true); err != nil {
					t.Fatal(err)
				}
				r.expect(id, "", fault.TaskCancelled)
			}
			r.expect(behind, "", fault.TaskCancelled)
			if n := runsIn(path + ".cancelled"); n != 1 && !force { // its process may end before it hears
				t.Errorf("the task has heard %d cancellations", n)
			}
			if n := runsIn(path + ".begun"); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			r.expect(r.submit("echo", 0, "next"), "next", "")
		})
	}
}

// A cancellation reaches the tasks that a task has submitted, unless that is not wanted.
func TestReal_Cancel_ChildrenToo(t *testing.T) {
	for name, recursive := range map[string]bool{"with children": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			r := startReal(t, 2)
			path := r.file()
			outer := r.submit("outer", 0, path)
			r.eventually("the inner one runs", func() bool { return runsIn(path+".begun") > 0 })
			if err := r.Cancel(outer, false, recursive); err != nil {
				t.Fatal(err)
			}
			if recursive {
				r.eventually("the inner one hears it", func() bool { return runsIn(path+".cancelled") > 0 })
			} else if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r.expect(outer, "", fault.TaskCancelled)
			if n := runsIn(path + ".cancelled"); n > 0 != recursive {
				t.Errorf("the inner one has heard %d cancellations", n)
			}
		})
	}
}

// What is freed is gone for those who borrow it, too, whoever of them frees it.
func TestReal_Free_ReachesTheOwner(t *testing.T) {
	r := startReal(t, 1)
	other := joinReal(t, r.s)
	put := func() (ids.Object, string) {
		id, err := r.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Bufs: [][]byte{make([]byte, 1<<20)}})
		if err != nil {
			t.Fatal(err)
		}
		addr, err := r.Export(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Import(id, addr, 0); err != nil {
			t.Fatal(err)
		}
		return id, addr
	}
	id, _ := put()
	other.expect(id, "x", "")
	if err := other.Free([]ids.Object{id}); err != nil {
		t.Fatal(err)
	}
	r.expect(id, "", fault.ObjectFreed)
	other.expect(id, "", fault.ObjectFreed)
	left, _ := put()
	other.expect(left, "x", "")
	r.Release(Drop{Object: left})
	other.expect(left, "x", "")
	for _, id := range []ids.Object{id, left} {
		other.Release(Drop{Object: id})
	}
	r.empty(id)
}

// An owner that ends takes what it owns along.
func TestReal_OwnerEnds_BorrowersAreTold(t *testing.T) {
	r := startReal(t, 1)
	other := joinReal(t, r.s)
	id, err := other.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	pending := other.submit("wait", 0, r.file())
	for _, x := range []ids.Object{id, pending} {
		addr, err := other.Export(x)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Import(x, addr, 0); err != nil {
			t.Fatal(err)
		}
	}
	other.Close(0)
	r.expect(id, "", fault.OwnerDied)
	r.expect(pending, "", fault.OwnerDied)
	if gone, err := r.Lose(id); err != nil || !gone {
		t.Errorf("what a dead process owned: %v, %v", gone, err)
	}
	if err := r.Free([]ids.Object{id}); err != nil {
		t.Errorf("it is freed: %v", err)
	}
	if err := r.Cancel(pending, false, false); err != nil {
		t.Errorf("it is cancelled: %v", err)
	}
}

// A census tells what each task and object of a process is doing.
func TestReal_Census_StatesOfTasksAndObjects(t *testing.T) {
	r := startReal(t, 2)
	path := r.file()
	runs := r.submit("wait", 0, path)
	r.eventually("it runs", func() bool { return runsIn(path+".begun") > 0 })
	takes := r.submit("needs it", 0, "", runs)
	waits := submitText(t, r.Client, r.template("needs a node", 0, func(tm *Template) { tm.Resources = play.Units(map[string]float64{"CPU": 2}) }), "")
	put, err := r.Put(&Value{Fmt: FmtBytes, Meta: []byte("x"), Bufs: [][]byte{make([]byte, 1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	a := r.actor("", nil)
	call := r.call(a, "add", "")
	behind := r.call(a, "add", "", runs)
	r.expect(call, "1", "")
	var mine wire.ProcessCensus
	var c wire.Census
	r.s.Tool().Call(wire.TCensus, wire.CensusAsk{Objects: true, Tasks: true, Limit: 100}, &c)
	ranElsewhere := 0
	for _, p := range c.Parts[0].Processes {
		ranElsewhere += len(p.Runs)
		if p.Role == wire.RoleDriver {
			mine = p
		}
	}
	if ranElsewhere != 1 {
		t.Errorf("%d tasks run, want 1", ranElsewhere)
	}
	states := map[string]string{}
	for _, row := range mine.Tasks {
		states[row.Name] = row.State
	}
	for name, want := range map[string]string{"wait": wire.TaskSubmitted, "needs it": wire.TaskWaitsForArguments, "needs a node": wire.TaskWaitsForNode, "A.add": wire.TaskWaitsForArguments} {
		if states[name] != want {
			t.Errorf("%s is %q, want %q", name, states[name], want)
		}
	}
	if mine.Open != 4 || len(mine.Tasks) != 4 {
		t.Errorf("%d tasks are open, %d listed, want 4", mine.Open, len(mine.Tasks))
	}
	held := map[ids.Object]wire.Held{}
	for _, h := range mine.Objects {
		held[ids.Object(h.ObjectID)] = h
	}
	for id, want := range map[ids.Object]string{runs: "pending", takes: "pending", waits: "pending", behind: "pending", put: "stored", call: "inline", r.ActorTokenID(a): "inline"} {
		h, ok := held[id]
		if !ok || h.State != want || !h.Owned || h.Local != 1 {
			t.Errorf("object %s: %+v, want %s", id, h, want)
		}
	}
	if held[runs].Tasks != 2 || held[put].Tasks != 0 || held[put].Size < 1<<20 || string(held[r.ActorTokenID(a)].ActorID) != string(a[:]) {
		t.Errorf("%+v, %+v, %+v", held[runs], held[put], held[r.ActorTokenID(a)])
	}
	finished := map[string]uint64{}
	for _, e := range mine.ByMaker {
		finished[e.Name] += e.Finished
	}
	if finished["A.add"] != 1 {
		t.Errorf("finished are %v", finished)
	}
	if err := r.Cancel(waits, false, false); err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(runs, false, false); err != nil {
		t.Fatal(err)
	}
	r.expect(takes, "", fault.TaskCancelled)
	r.expect(behind, "", fault.TaskCancelled)
}
