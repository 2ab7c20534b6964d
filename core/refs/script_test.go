package refs

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

var update = flag.Bool("update", false, "rewrite the expected traces")

// TestScripts runs testdata/*.txt: each line is an event, and the indented lines
// after it are the effects that it must have, in order.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(src))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(src) {
				t.Errorf("the trace differs; run with -update and look at the change.\n--- got\n%s", got)
			}
		})
	}
}

func runScript(t *testing.T, src string) string {
	var out strings.Builder
	s := newScript(t)
	sc := bufio.NewScanner(strings.NewReader(src))
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.do(line)
		s.m.CarryOut()
		for _, l := range s.rec.seen {
			fmt.Fprintln(&out, "  "+l)
		}
		s.rec.seen = nil
	}
	return out.String()
}

// script executes the lines of one file. The name of an object of
// another process begins with that process's name and a dot.
type script struct {
	t       *testing.T
	m       *Table
	rec     *recorder
	objects map[string]*Object
	owners  map[string]ids.Owner
	waits   map[string]*wait.Wait
	recipes map[string]*Recipe
	asked   uint64
}

func newScript(t *testing.T) *script {
	m, r := recorded()
	s := &script{t: t, m: m, rec: r, objects: map[string]*Object{}, owners: map[string]ids.Owner{}, waits: map[string]*wait.Wait{}, recipes: map[string]*Recipe{}}
	r.name = s.nameOf
	r.connected, r.siblings = map[ids.Owner]bool{}, map[*Object][]*Object{}
	return s
}

func (s *script) nameOf(id ids.Object) string {
	for name, o := range s.objects {
		if o.ID == id {
			return name
		}
	}
	return id.String()
}

func (s *script) owner(name string) ids.Owner {
	if _, ok := s.owners[name]; !ok {
		s.owners[name] = ids.Owner{byte(len(s.owners) + 1)}
	}
	return s.owners[name]
}

func (s *script) object(name string) *Object {
	o := s.objects[name]
	if o == nil {
		s.t.Fatalf("there is no object %q", name)
	}
	return o
}

func (s *script) list(names string) (list []*Object) {
	for _, name := range strings.Split(names, ",") {
		if name != "" {
			list = append(list, s.object(name))
		}
	}
	return list
}

func (s *script) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func task(n int) ids.Task { return ids.Task{byte(n)} }

func rawIDs(list []*Object) (raws [][]byte) {
	for _, o := range list {
		raws = append(raws, raw(o.ID))
	}
	return raws
}

var unschedulable = fault.New(fault.TaskUnschedulable, "no node has it")

// do executes one line. The words are: an event, an object or a process, and what belongs to the event.
func (s *script) do(line string) {
	w := strings.Fields(line)
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	t, name := s.m, arg(1)
	switch w[0] {
	case "put", "store": // NAME [inside LIST]: a value of ours with one reference
		o := t.New(0, 1)
		if s.objects[name] = o; w[0] == "put" {
			t.PutInline(o, []byte(name), 1)
		} else {
			t.PutStored(o, 100, false)
		}
		for _, in := range s.list(arg(3)) {
			t.Contain(o, in)
		}
	case "task": // N returns LIST
		for i, x := range strings.Split(arg(3), ",") {
			o := t.New(uint32(i+1), 1)
			o.SetSource(job(s.number(name)))
			s.objects[x] = o
		}
	case "token": // NAME: an actor's, of ours
		s.objects[name] = t.New(0, 1)
		t.MakeToken(s.objects[name], someActor{})
	case "import": // P.NAME: a reference of another process comes
		p, _, _ := strings.Cut(name, ".")
		o := s.objects[name]
		if o == nil {
			o = &Object{ID: ids.NewObject(uint64(len(s.objects)+1), s.owner(p), ids.JobOf(1), 0)}
			s.objects[name] = o
		}
		s.objects[name] = t.Borrow(o.ID, p)
		t.Ref(s.objects[name])
	case "contain": // NAME LIST
		for _, in := range s.list(arg(2)) {
			t.Contain(s.object(name), in)
		}
	case "complete": // NAME inline|stored|error
		if arg(2) == "stored" {
			t.Complete(s.object(name), Stored, nil, 100, false)
		} else {
			t.Complete(s.object(name), Inline, []byte(name), 1, arg(2) == "error")
		}
	case "fail":
		t.Fail(s.object(name), fault.New(fault.WorkerCrashed, "it crashed"))
	case "infeasible":
		t.Infeasible(s.object(name), unschedulable)
	case "feasible":
		t.Feasible(s.object(name))
	case "failas": // NAME OTHER
		t.FailAs(s.object(name), s.object(arg(2)))
	case "drop": // LIST, or view N, or generator NAME
		var list []Drop
		switch name {
		case "view":
			list = []Drop{{View: uint64(s.number(arg(2)))}}
		case "generator":
			list = []Drop{{Object: s.object(arg(2)).ID, View: DropStream}}
		case "nothing":
		default:
			for _, o := range s.list(name) {
				list = append(list, Drop{Object: o.ID})
			}
		}
		t.Drop(list)
	case "pin":
		t.Pin(s.object(name))
	case "unpin":
		t.Unpin(s.object(name))
	case "takes": // N LIST: the task waits for arguments
		for _, o := range s.list(arg(2)) {
			t.WatchBy(o, job(s.number(name)))
		}
	case "wait": // NAME NEED LIST
		list := s.list(arg(3))
		s.waits[name] = wait.New().For(s.number(arg(2)), len(list), false)
		t.WatchAll(s.waits[name], list)
	case "unwait":
		t.UnwatchAll(s.waits[name])
	case "asked": // NAME [lost|patiently]: by a borrower
		s.asked++
		q := &wire.RefWait{ObjectID: raw(s.object(name).ID), Lost: arg(2) == "lost", Infeasible: arg(2) == "patiently"}
		if err := t.Asked(q, &wire.Message{ID: s.asked}); err != nil {
			s.rec.note("refused: %s", fault.CodeOf(err))
		}
	case "borrower": // P holds|returns|ends [LIST]
		p := s.owner(name)
		switch arg(2) {
		case "holds":
			_ = t.BorrowerHolds(p, rawIDs(s.list(arg(3))))
		case "returns":
			_ = t.BorrowerReturns(p, rawIDs(s.list(arg(3))))
		default:
			t.BorrowerGone(p)
		}
	case "connected": // P
		s.rec.connected[s.owner(name)] = true
	case "gone": // P: the process at this address
		delete(s.rec.connected, s.owner(name))
		t.OwnerGone(name)
	case "registered": // N
		t.Registered(s.number(name))
	case "ask": // NAME [lost]
		t.Ask(s.object(name), arg(2) == "lost")
	case "answered": // NAME inline|stored|infeasible|fault [patiently]
		v, q := &wire.RefValue{Size: 100}, ForValue
		switch arg(2) {
		case "inline":
			v.Inline = []byte(name)
		case "infeasible":
			v.Fault = &wire.FaultBody{Code: string(fault.TaskUnschedulable), Message: "no node has it"}
		case "fault":
			v.Fault = &wire.FaultBody{Code: string(fault.WorkerCrashed), Message: "it crashed"}
		}
		if arg(3) == "patiently" {
			q = ForFeasible
		}
		t.Answered(s.object(name).ID, q, v, nil)
	case "hold": // CALLER TASK LIST: a result that refers to these has gone out
		list := s.list(arg(3))
		for _, o := range list {
			t.Pin(o)
		}
		t.HoldResult(s.owner(name), task(s.number(arg(2))), list)
	case "confirmed": // CALLER TASK
		t.Confirmed(s.owner(name), task(s.number(arg(2))))
	case "broken": // CALLER: its task socket
		t.CallerLost(s.owner(name), name)
	case "receipt": // WORKER TASK
		t.ReceiptWhenRegistered(name, task(s.number(arg(2))))
	case "retain": // WORKER LIST
		t.Retain(name, s.list(arg(2)))
	case "worker": // WORKER registered|late
		i := slices.IndexFunc(t.Retained(), func(r *Retained) bool { return r.Worker() == name })
		t.WorkerRegistered(t.Retained()[i], arg(2) == "registered")
	case "await": // NAME: all registrations
		s.waits[name] = wait.New()
		t.AwaitRegistered(s.waits[name])
	case "end": // the session: nothing will be registered any more
		t.EndRegistrationWaits()
	case "giveup": // NAME: it has waited long enough
		t.StopAwaitingRegistered(s.waits[name])
		s.rec.note("owner late: %v", t.OwnerLate())
	case "record": // N makes LIST [of LIST]: the task has ended and is kept
		s.recipes[name] = NewRecipe(job(s.number(name)), s.list(arg(5)))
		made := s.list(arg(3))
		t.Record(s.recipes[name], made)
		for _, o := range made {
			s.rec.siblings[o] = made
		}
	case "forget":
		t.DropOldest()
	case "missed":
		t.Missed(s.object(name))
	case "checked": // LIST lacks LIST
		t.Checked(s.list(name), rawIDs(s.list(arg(3))), nil)
	case "recompute": // NAME
		if r := t.ToRecompute(s.object(name)); r == nil {
			s.rec.note("nothing to compute")
		} else {
			s.rec.note("task %d is to run again", r.Task())
		}
	case "begin": // N as M
		t.Begin(s.recipes[name], job(s.number(arg(3))))
	case "finish": // N
		t.Finish(s.recipes[name])
	case "free":
		t.FreeValue(s.object(name))
	case "keep":
		if err := t.Keep(s.object(name).ID, func() { s.rec.note("what %s kept is released", name) }); err != nil {
			s.rec.note("refused: %s", fault.CodeOf(err))
		}
	case "spare": // NAME: the session uses the memory of its copy again
		s.rec.keeps = s.object(name)
	case "show": // LIST
		for _, o := range s.list(name) {
			s.show(o)
		}
	default:
		s.t.Fatalf("event %q is not known", line)
	}
}

var stateNames = map[State]string{Pending: "pending", Infeasible: "infeasible", Evicted: "evicted", Inline: "inline", Stored: "stored", Failed: "failed"}

func (s *script) show(o *Object) {
	name := s.nameOf(o.ID)
	if s.m.Find(o.ID) != o {
		s.rec.note("%s is gone", name)
		return
	}
	text := fmt.Sprintf("%s is %s, local %d, pins %d", name, stateNames[o.state], o.local, o.pins)
	if n := o.Borrowers(); n > 0 {
		text += fmt.Sprintf(", borrowers %d", n)
	}
	if o.state == Failed {
		text += ", " + string(o.fault.Code)
	}
	s.rec.note("%s", text)
}
