package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Whatever keeps a worker from starting, its owner is told why, and other
// environments of the job have workers.
func TestFlow_WorkersThatDoNotStart_TheReasonIsTold(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	nowhere, unknown := d.Environment("nowhere", nil), d.Environment("unknown", nil)
	nowhere.Python, unknown.Python = "/nowhere/python", "no-such-python"
	d.Push(wire.TEnvDefine, nowhere)
	d.Push(wire.TEnvDefine, unknown)
	d.Push(wire.TEnvDefine, d.Environment("refuses", map[string]string{"FAKE_ZYGOTE": "refuses"}))
	for i, c := range []struct{ key, words string }{
		{"nowhere", "start interpreter /nowhere/python"},
		{"unknown", "interpreter: "},
		{"refuses", "no memory to fork"},
	} {
		id := uint32(i + 2)
		d.Class(id, play.OneCPU, c.key)
		d.Want(id, 1)
		var x wire.ClassTrouble
		d.Expect(wire.TClassInfeasible, &x)
		if x.ClassID != id || x.Code != "runtime_env_setup" || !strings.Contains(x.Message, c.words) {
			t.Errorf("%s: got %+v", c.key, x)
		}
		d.Want(id, 0)
	}
	if d.Leased(1).Tell("pid") == "" {
		t.Error("another environment has no worker")
	}
}

// What a zygote notes is shown once, however many environments have the same.
func TestFlow_ZygoteNotes_AreShownOnce(t *testing.T) {
	s := play.Start(t, 3)
	d := s.Driver(nil)
	const text = "a note of the zygote"
	for i := range 3 {
		key := fmt.Sprint("noted ", i)
		d.Push(wire.TEnvDefine, d.Environment(key, map[string]string{"FAKE_ZYGOTE": "notes"}))
		d.Class(uint32(i), play.OneCPU, key)
		d.Want(uint32(i), 1)
		d.Lease().Tell(fmt.Sprintf(`print from %d\n`, i)) // a zygote's note comes before its worker
	}
	if l := d.Line(text); l.Source != "daemon" || !l.Stderr {
		t.Errorf("got %+v", l)
	}
	d.Line("from 2")
	n := 0
	for _, l := range d.Logs() {
		if l.Text == text {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the note is shown %d times", n)
	}
}

// A job keeps so many zygotes; those without workers make room for others.
func TestFlow_ManyEnvironments_SpareZygotesEnd(t *testing.T) {
	s := play.Start(t, 2)
	d, tool := s.Driver(nil), s.Tool()
	var n map[string]uint64
	keeps := d.Leased(100) // its zygote has a worker all the time
	for i := range 12 {
		key := fmt.Sprint("env ", i)
		d.Push(wire.TEnvDefine, d.Environment(key, nil))
		d.Class(uint32(i), play.OneCPU, key)
		d.Want(uint32(i), 1)
		h := d.Lease()
		d.Want(uint32(i), 0)
		h.Tell("leave its work is done")
		var x wire.LeaseBroken
		d.Expect(wire.TLeaseBroken, &x)
		tool.Call(wire.TFootprint, wire.FootprintAsk{}, &n)
		if n["n_zygotes"] > 8 {
			t.Fatalf("there are %d zygotes after %d environments", n["n_zygotes"], i+1)
		}
	}
	if n["n_zygotes"] < 4 {
		t.Errorf("only %d zygotes are kept", n["n_zygotes"])
	}
	if got := keeps.Tell("pid"); got != fmt.Sprint(keeps.Pid) {
		t.Errorf("the worker of the first environment answers %q", got)
	}
}

// What a worker wrote last is part of the report of its death, and no more than that.
func TestFlow_WorkerEnds_LastLinesAreQuoted(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	h := d.Leased(1)
	h.Tell(`eprint of other work\n` + "\x1f" + `:over:\n`)
	for i := range 30 {
		h.Tell(fmt.Sprintf(`eprint line %d\n`, i))
	}
	d.Line("line 29")
	h.Tell("exit 5")
	var x wire.LeaseBroken
	d.Expect(wire.TLeaseBroken, &x)
	lines := strings.Split(x.Detail, "\n")
	if len(lines) != 2+24 || strings.TrimSpace(lines[2]) != "line 6" || strings.TrimSpace(lines[25]) != "line 29" {
		t.Errorf("%d lines: %q", len(lines), x.Detail)
	}
}

// A census joins what processes hold with what the store knows, and names those that do not answer.
func TestFlow_Census_PlacesAndProcesses(t *testing.T) {
	s := play.Start(t, 1)
	d, tool := s.Driver(nil), s.Tool()
	sealed, writing, unknown := d.Put(8192), d.Object(), d.Object()
	if _, err := d.Create(writing, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Pin(sealed); err != nil {
		t.Fatal(err)
	}
	ask := wire.CensusAsk{Objects: true, Limit: 10, TimeoutMs: 30}
	var c wire.Census
	tool.Call(wire.TCensus, ask, &c)
	if len(c.Parts[0].Processes) != 0 || len(c.Parts[0].Silent) == 0 || !strings.Contains(c.Parts[0].Silent[0].Why, "did not answer within 30ms") {
		t.Errorf("nobody answers: %+v", c)
	}
	held := wire.ProcessCensus{Pid: 42, Role: wire.RoleDriver}
	for _, id := range [][]byte{sealed[:], writing[:], unknown[:], sealed[:], []byte("short")} {
		held.Objects = append(held.Objects, wire.Held{ObjectID: id, Owned: true})
	}
	d.Holds(held)
	tool.Call(wire.TCensus, ask, &c)
	if len(c.Parts[0].Processes) != 1 || c.Parts[0].Processes[0].Pid != 42 || len(c.Parts[0].Processes[0].Objects) != 5 {
		t.Errorf("the census has %+v", c.Parts[0].Processes)
	}
	where := map[string]wire.Place{}
	for _, p := range c.Parts[0].Places {
		where[string(p.ObjectID)] = p
	}
	a, b := where[string(sealed[:])], where[string(writing[:])]
	if len(c.Parts[0].Places) != 2 || a.Size != 8192 || a.Pins != 1 || b.Where != "creating" || b.Size != 4096 || a.Where == b.Where {
		t.Errorf("places %+v", c.Parts[0].Places)
	}
	if c.Parts[0].Store.Objects != 2 || c.Parts[0].Store.Used != 8192+4096 || c.Parts[0].Store.Pinned == 0 || c.Parts[0].Store.Capacity != 100<<20 {
		t.Errorf("store %+v", c.Parts[0].Store)
	}
}
