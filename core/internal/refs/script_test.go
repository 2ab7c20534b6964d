package refs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts runs testdata/*.txt: each line is an event, and the indented lines
// after it are the effects that it must have, in order.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		s := newInterpreter(t)
		return script.Trace(t, src, func(e *script.Event) []string {
			s.rec.seen = nil
			s.do(e)
			s.m.CarryOut()
			return s.rec.seen
		})
	})
}

// interpreter executes the lines of one script. The name of an object of
// another process begins with that process's name and a dot.
type interpreter struct {
	t       *testing.T
	m       *Table
	rec     *recorder
	objects map[string]*Object
	owners  map[string]ids.Owner
	waits   map[string]*wait.Wait
	recipes map[string]*Recipe
	asked   uint64
}

func newInterpreter(t *testing.T) *interpreter {
	m, r := recorded()
	s := &interpreter{t: t, m: m, rec: r, objects: map[string]*Object{}, owners: map[string]ids.Owner{}, waits: map[string]*wait.Wait{}, recipes: map[string]*Recipe{}}
	r.name = s.nameOf
	r.siblings = map[*Object][]*Object{}
	return s
}

func (s *interpreter) nameOf(id ids.Object) string {
	for name, o := range s.objects {
		if o.ID == id {
			return name
		}
	}
	return id.String()
}

func (s *interpreter) owner(name string) ids.Owner {
	if _, ok := s.owners[name]; !ok {
		s.owners[name] = ids.Owner{byte(len(s.owners) + 1)}
	}
	return s.owners[name]
}

func (s *interpreter) object(name string) *Object {
	o := s.objects[name]
	if o == nil {
		s.t.Fatalf("there is no object %q", name)
	}
	return o
}

func (s *interpreter) list(names string) (list []*Object) {
	for _, name := range strings.Split(names, ",") {
		if name != "" {
			list = append(list, s.object(name))
		}
	}
	return list
}

// socket is a task socket of a process: that of a lease by its number, or of a connection to an
// actor, whose name begins with a.
func (s *interpreter) socket(caller, name string) TaskSocket {
	n, actor := strings.CutPrefix(name, "a")
	number, err := strconv.Atoi(n)
	if err != nil {
		s.t.Fatalf("%q is no task socket: %v", name, err)
	}
	return TaskSocket{Caller: s.owner(caller), Addr: caller, Actor: actor, Number: uint64(number)}
}

func rawIDs(list []*Object) (raws [][]byte) {
	for _, o := range list {
		raws = append(raws, raw(o.ID))
	}
	return raws
}

var unschedulable = fault.New(fault.TaskUnschedulable, "no node has it")

// do executes one line. The words are: an event, an object or a process, and what belongs to the event.
func (s *interpreter) do(e *script.Event) {
	t, name := s.m, e.Word(0)
	switch e.Name {
	case "put", "store": // NAME [inside LIST]: a value of ours with one reference
		o := t.New(0, 1)
		if s.objects[name] = o; e.Name == "put" {
			t.PutInline(o, []byte(name), 1)
		} else {
			t.PutStored(o, 100, false)
		}
		for _, in := range s.list(e.Word(2)) {
			t.Contain(o, in)
		}
	case "task": // N returns LIST
		for i, x := range strings.Split(e.Word(2), ",") {
			o := t.New(uint32(i+1), 1)
			o.SetSource(job(e.Number(name)))
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
		for _, in := range s.list(e.Word(1)) {
			t.Contain(s.object(name), in)
		}
	case "complete": // NAME inline|stored|error
		if e.Word(1) == "stored" {
			t.Complete(s.object(name), Stored, nil, 100, false)
		} else {
			t.Complete(s.object(name), Inline, []byte(name), 1, e.Word(1) == "error")
		}
	case "fail":
		t.Fail(s.object(name), fault.New(fault.WorkerCrashed, "it crashed"))
	case "infeasible":
		t.Infeasible(s.object(name), unschedulable)
	case "feasible":
		t.Feasible(s.object(name))
	case "failas": // NAME OTHER
		t.FailAs(s.object(name), s.object(e.Word(1)))
	case "drop": // LIST, or view N, or generator NAME
		var list []Drop
		switch name {
		case "view":
			list = []Drop{{View: uint64(e.Number(e.Word(1)))}}
		case "generator":
			list = []Drop{{Object: s.object(e.Word(1)).ID, View: DropStream}}
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
		for _, o := range s.list(e.Word(1)) {
			t.WatchBy(o, job(e.Number(name)))
		}
	case "wait": // NAME NEED LIST
		list := s.list(e.Word(2))
		s.waits[name] = wait.New().For(e.Number(e.Word(1)), len(list), false)
		t.WatchAll(s.waits[name], list)
	case "unwait":
		t.UnwatchAll(s.waits[name])
	case "asked": // NAME [lost|patiently]: by a borrower
		s.asked++
		q := &wire.RefWait{ObjectID: raw(s.object(name).ID), Lost: e.Word(1) == "lost", Infeasible: e.Word(1) == "patiently"}
		if err := t.Asked(q, &wire.Message{ID: s.asked}); err != nil {
			s.rec.note("refused: %s", fault.CodeOf(err))
		}
	case "borrower": // P holds|returns|ends [LIST]
		p := s.owner(name)
		switch e.Word(1) {
		case "holds":
			_ = t.BorrowerHolds(p, rawIDs(s.list(e.Word(2))))
		case "returns":
			_ = t.BorrowerReturns(p, rawIDs(s.list(e.Word(2))))
		default:
			t.BorrowerGone(p)
		}
	case "gone": // P: the process at this address
		t.OwnerGone(name)
	case "registered": // N
		t.Registered(e.Number(name))
	case "ask": // NAME [lost]
		t.Ask(s.object(name), e.Word(1) == "lost")
	case "answered": // NAME inline|stored|infeasible|fault [patiently]
		v, q := &wire.RefValue{Size: 100}, ForValue
		switch e.Word(1) {
		case "inline":
			v.Inline = []byte(name)
		case "infeasible":
			v.Fault = &wire.FaultBody{Code: string(fault.TaskUnschedulable), Message: "no node has it"}
		case "fault":
			v.Fault = &wire.FaultBody{Code: string(fault.WorkerCrashed), Message: "it crashed"}
		}
		if e.Word(2) == "patiently" {
			q = ForFeasible
		}
		t.Answered(s.object(name).ID, q, v, nil)
	case "hold": // CALLER SOCKET LIST: an answer that refers to these has gone out
		list := s.list(e.Word(2))
		for _, o := range list {
			t.Pin(o)
		}
		s.rec.note("answer %d", t.HoldResult(s.socket(name, e.Word(1)), list))
	case "confirmed": // CALLER ANSWER
		t.Confirmed(s.owner(name), uint64(e.Number(e.Word(1))))
	case "broken": // CALLER SOCKET
		t.CallerLost(s.socket(name, e.Word(1)))
	case "read": // CALLER SOCKET all|some [after MS]: what the caller says that it has read
		pause := RetainFirst
		if e.Word(3) == "after" {
			pause = time.Duration(e.Number(e.Word(4))) * time.Millisecond
		}
		t.CallerRead(s.socket(name, e.Word(1)), e.Word(2) == "all", pause)
	case "receipt": // WORKER ANSWER
		t.ReceiptWhenRegistered(name, uint64(e.Number(e.Word(1))))
	case "retain": // WORKER LIST
		t.Retain(name, s.list(e.Word(1)))
	case "worker": // WORKER registered|late
		i := slices.IndexFunc(t.Retained(), func(r *Retained) bool { return r.Worker() == name })
		t.WorkerRegistered(t.Retained()[i], e.Word(1) == "registered")
	case "await": // NAME: all registrations
		s.waits[name] = wait.New()
		t.AwaitRegistered(s.waits[name])
	case "end": // the session: nothing will be registered any more
		t.EndRegistrationWaits()
	case "giveup": // NAME: it has waited long enough
		t.StopAwaitingRegistered(s.waits[name])
		s.rec.note("owner late: %v", t.OwnerLate())
	case "record": // N makes LIST [of LIST]: the task has ended and is kept
		s.recipes[name] = NewRecipe(job(e.Number(name)), s.list(e.Word(4)))
		made := s.list(e.Word(2))
		t.Record(s.recipes[name], made)
		for _, o := range made {
			s.rec.siblings[o] = made
		}
	case "forget":
		t.DropOldest()
	case "missed":
		t.Missed(s.object(name))
	case "checked": // LIST lacks LIST
		t.Checked(s.list(name), rawIDs(s.list(e.Word(2))), nil)
	case "recompute": // NAME
		if r := t.ToRecompute(s.object(name)); r == nil {
			s.rec.note("nothing to compute")
		} else {
			s.rec.note("task %d is to run again", r.Task())
		}
	case "begin": // N as M
		t.Begin(s.recipes[name], job(e.Number(e.Word(2))))
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
		e.Unknown()
	}
}

var stateNames = map[State]string{Pending: "pending", Infeasible: "infeasible", Evicted: "evicted", Inline: "inline", Stored: "stored", Failed: "failed"}

func (s *interpreter) show(o *Object) {
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
