package client

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// peerTo is the daemon's end of a process's control connection.
func (d *fakeDaemon) peerTo(c *Client) (p *wire.Peer) {
	d.t.Helper()
	worker := c.Info().Worker
	d.eventually("the process has joined", func() bool {
		p = d.peerOf[worker]
		return p != nil
	})
	return p
}

// says sends messages to a process and returns when the process has handled them.
func (d *fakeDaemon) says(c *Client, list ...func(p *wire.Peer) error) {
	d.t.Helper()
	p := d.peerTo(c)
	for _, say := range list {
		if err := say(p); err != nil {
			d.t.Fatal(err)
		}
	}
	var census wire.ProcessCensus // which comes after the answers to all before
	if err := d.asks(c, wire.TProcessCensus, wire.CensusAsk{}, &census); err != nil {
		d.t.Fatalf("ask what the process has: %v", err)
	}
}

// asks asks a process something and waits for the answer.
func (d *fakeDaemon) asks(c *Client, what wire.Type, body, answer any) error {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	return d.peerTo(c).Call(ctx, what, body, answer)
}

func push(what wire.Type, body any) func(p *wire.Peer) error {
	return func(p *wire.Peer) error { return p.Push(what, body) }
}

// A class that nothing can serve fails at once when its environment cannot be made. When
// there is no room for it in this cluster, its tasks say so, and wait.
func TestFromDaemon_ClassHasTrouble_ItsTasksHear(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	ref := submitText(t, c, template(t, c, "f"), "x")
	d.eventually("a worker is wanted", func() bool { return d.wanted().n == 1 })
	d.mu.Lock()
	class := d.wanted().class
	d.mu.Unlock()
	trouble := wire.ClassTrouble{ClassID: class, Message: "no such package", Code: string(fault.RuntimeEnvSetup)}
	d.says(c, push(wire.TClassInfeasible, trouble))
	expectOutcome(t, c, "its environment cannot be made", ref, "", fault.RuntimeEnvSetup)

	submitText(t, c, template(t, c, "f"), "y")
	trouble.Message, trouble.Code = "it needs 9 GPUs, there are 2", ""
	d.says(c, push(wire.TClassInfeasible, trouble))
	c.mu.Lock()
	defer c.mu.Unlock()
	if bad := c.submit.Classes[class].Bad; bad == nil || bad.Code != fault.TaskUnschedulable || bad.Message != trouble.Message {
		t.Errorf("the class is marked with %+v", bad)
	}
}

// A message that cannot be read is answered with an error, and the program's user is warned.
func TestFromDaemon_MalformedOrForeignMessages_AreRefusedAndNoted(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	for _, what := range []wire.Type{wire.TLeaseGrant, wire.TLeaseRecall, wire.TLeaseWanted, wire.TLeaseBroken, wire.TClassInfeasible,
		wire.TLogs, wire.TForget, wire.TProcessCensus, wire.TActorStart, wire.TObjFreed, wire.TWorkerReady} {
		err := d.asks(w, what, "no map", nil)
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), what.String()) {
			t.Errorf("%s: the answer is %v", what, err)
		}
		n := w.NextNote(testLimit)
		if n == nil || !strings.Contains(n.Warning, "not understood") || !strings.Contains(n.Warning, what.String()) {
			t.Errorf("%s: the user gets %+v", what, n)
		}
	}
	if err := w.Err(); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
}

// What only a worker can do changes nothing in a driver.
func TestFromDaemon_DriverGetsAWorkersMessages_LivesOn(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	d.says(c, push(wire.TForget, wire.FunctionRef{FID: []byte("f")}), push(wire.TActorStart, wire.ActorStart{}), push(wire.TActorStop, nil),
		push(wire.TRunning, nil), push(wire.TExit, nil))
	if n := c.NextNote(0); n != nil || c.Err() != nil {
		t.Errorf("the driver notes %+v, its session: %v", n, c.Err())
	}
}

func TestFromDaemon_FunctionIsForgotten_TheWaitingProgramIsTold(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	got := make(chan *Item, 2)
	go func() {
		for range 2 {
			it, err := w.NextTask(testLimit, "")
			if err != nil || it == nil {
				t.Errorf("the program gets %+v, %v", it, err)
				it = &Item{}
			}
			got <- it
		}
	}()
	for _, fid := range []string{"first function id", "another function"} {
		waitFor(t, "the program waits", func() bool { return waitsIn(w) == 1 })
		d.says(w, push(wire.TForget, wire.FunctionRef{FID: []byte(fid)}))
		if it := <-got; it.Kind != ItemForget || string(it.Blob) != fid {
			t.Errorf("the program is told %+v, want that it lets go of %q", it, fid)
		}
	}
}

// waitsIn is how many threads of a worker wait for a call of the default group.
func waitsIn(w *Client) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exec.Counts().Threads
}

func TestFromDaemon_AsksWhatRuns_NewestCallIsNamed(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	var r wire.Running
	if err := d.asks(w, wire.TRunning, nil, &r); err != nil || r != (wire.Running{}) {
		t.Fatalf("an idle worker says %+v, %v", r, err)
	}
	p := callsInto(t, w, wire.RoleActor, nil)
	p.send(templateOf(1, nil), templateOf(2, func(x *frame.Template) { x.Name, x.Once = "g", true }), callOf(1, 2, "a"), callOf(2, 1, "b"))
	first, second := takes(t, w), takes(t, w)
	if err := d.asks(w, wire.TRunning, nil, &r); err != nil || r.Name != "f" || r.Busy != 2 || !r.Once || r.Call != second.Token || r.AgeUs < 0 {
		t.Errorf("the worker says %+v, %v, want that it runs f as its call %d, beside another call", r, err, second.Token)
	}
	answers(t, w, first, "")
	r = wire.Running{}
	if err := d.asks(w, wire.TRunning, nil, &r); err != nil || r.Busy != 1 || r.Once {
		t.Errorf("after the first call has ended the worker says %+v, %v", r, err)
	}
}

func TestFromDaemon_TellsAWorkerToExit_AnswersAndItsProgramEnds(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	var keeps wire.ExitAnswer
	if err := d.asks(w, wire.TExit, nil, &keeps); err != nil || keeps != (wire.ExitAnswer{}) {
		t.Errorf("an idle worker answers %+v, %v", keeps, err)
	}
	if it := takes(t, w); it.Kind != ItemExit || it.Reason != wire.ExitIdle {
		t.Errorf("the program gets %+v, want that it ends", it)
	}
}

// A worker without calls is needed as long as others hold what it owns. One that
// runs a call, or is an actor, does not say so.
func TestExitAnswer_OthersHoldWhatItOwns_OnlyAnIdleWorkerIsNeeded(t *testing.T) {
	d := startDaemon(t)
	w := d.programless()
	id := putBytes(t, w, 10, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exitAnswer().Needed {
		t.Error("a worker is needed for an object that nobody else holds")
	}
	w.table.AddBorrower(w.table.Find(id), ids.Owner{7})
	if !w.exitAnswer().Needed {
		t.Error("the object of a borrower does not keep its worker")
	}
	worksFor(t, w, wire.RoleLease, templateOf(1, nil), callOf(1, 1, ""))
	k := begins(t, w)
	if a := w.exitAnswer(); a.Needed || !a.Runs {
		t.Errorf("while a call runs the answer is %+v", a)
	}
	w.exec.Finish(k)
	if a := w.exitAnswer(); !a.Needed || a.Runs {
		t.Errorf("when the call has ended the answer is %+v", a)
	}
	if err := w.exec.BecomeActor(startOf(templateOf(1, nil), callOf(1, 1, "")), nil); err != nil {
		t.Fatal(err)
	}
	if w.exitAnswer().Needed {
		t.Error("what an actor owns keeps it")
	}
}

func TestFromDaemon_Output_ComesInItsOrder(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	lines := []wire.LogLine{{Pid: 1, Text: "a"}, {Pid: 2, Text: "b", Stderr: true}}
	d.says(c, push(wire.TLogs, wire.LogBatch{Lines: lines}), push(wire.TLogs, wire.LogBatch{Lines: lines[:1]}))
	var got []wire.LogLine
	for n := c.NextNote(0); n != nil; n = c.NextNote(0) {
		if n.Log == nil {
			t.Fatalf("the user gets %+v, want a line of output", n)
		}
		got = append(got, *n.Log)
	}
	if want := append(slices.Clone(lines), lines[0]); !slices.Equal(got, want) {
		t.Errorf("the user gets %+v, want %+v", got, want)
	}
}
