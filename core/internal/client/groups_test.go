package client

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// grouped is an actor whose default group is blocked until the gate opens.
type grouped struct {
	d      *fakeDaemon
	a      *fakeActor
	c      *Client
	id     ids.Actor
	gate   chan struct{}
	inside atomic.Int32 // calls of the default group that wait at the gate
}

func startGrouped(t *testing.T, names []string, serve func()) *grouped {
	g := &grouped{d: startDaemon(t), gate: make(chan struct{})}
	g.a = g.d.act(0, func(_ uint64, c *Client, it *Item) {
		g.inside.Add(1)
		<-g.gate
		echo(c, it)
	})
	g.c = g.d.driver()
	g.id = newActor(t, g.c, ActorSpec{})
	g.d.eventually("the actor lives", func() bool { return g.a.alive })
	if err := g.a.worker.DeclareGroups(names, serve); err != nil {
		t.Fatal(err)
	}
	return g
}

// serve runs the calls of a group on one thread, which the test's end ends.
func (g *grouped) serve(t *testing.T, group string, ran func(*Item)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			it, err := g.a.worker.NextTask(-1, group)
			if err != nil || it != nil && it.Kind == ItemExit {
				return
			}
			if it != nil {
				ran(it)
				echo(g.a.worker, it)
			}
		}
	}()
	t.Cleanup(func() {
		g.a.worker.Close(0)
		<-done
	})
}

func (g *grouped) method(t *testing.T, c *Client, group string) int {
	id, err := c.NewTemplate(&Template{Kind: KindMethod, Name: "A.m", Method: "m", Returns: 1, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (g *grouped) waiting() int {
	g.a.worker.mu.Lock()
	defer g.a.worker.mu.Unlock()
	return g.a.worker.exec.Waiting()
}

func TestGroups_DefaultGroupIsBlocked_OthersRunInOrder(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	var order []string
	g.serve(t, "io", func(it *Item) { order = append(order, textOf(it)) })
	plain, io := g.method(t, g.c, ""), g.method(t, g.c, "io")
	blocked := []ids.Object{callActor(t, g.c, g.id, plain, "first"), callActor(t, g.c, g.id, plain, "second")}
	var want []string
	var results []ids.Object
	for i := range 200 {
		want = append(want, fmt.Sprint(i))
		results = append(results, callActor(t, g.c, g.id, io, want[i]))
	}
	for i, ref := range results {
		if text, code := outcome(t, g.c, ref); text != want[i] || code != "" {
			t.Fatalf("call %d of the group: %q, %q", i, text, code)
		}
	}
	if strings.Join(order, " ") != strings.Join(want, " ") {
		t.Errorf("the group's calls ran in the order %v", order)
	}
	if n := g.waiting(); n != 1 {
		t.Errorf("%d calls wait, the second one of the default group should", n)
	}
	close(g.gate)
	for i, ref := range blocked {
		if text, _ := outcome(t, g.c, ref); text != []string{"first", "second"}[i] {
			t.Errorf("call %d of the default group: %q", i, text)
		}
	}
}

func TestGroups_ArgumentIsLate_OnlyItsOwnGroupWaits(t *testing.T) {
	g := startGrouped(t, []string{"io", "disk"}, nil)
	for _, group := range []string{"io", "disk"} {
		g.serve(t, group, func(*Item) {})
	}
	gate := make(chan struct{})
	g.d.worker(func(c *Client, it *Item) {
		<-gate
		echo(c, it)
	})
	late, _, err := g.c.Submit(&Call{Template: template(t, g.c, "late"), Args: Value{Fmt: FmtPickle, Meta: []byte("late")}})
	if err != nil {
		t.Fatal(err)
	}
	io, disk := g.method(t, g.c, "io"), g.method(t, g.c, "disk")
	first := callActor(t, g.c, g.id, io, "first", late)
	behind := callActor(t, g.c, g.id, io, "behind")
	for i := range 50 {
		want := fmt.Sprint(i)
		if text, code := outcome(t, g.c, callActor(t, g.c, g.id, disk, want)); text != want || code != "" {
			t.Fatalf("call %d of the other group: %q, %q", i, text, code)
		}
	}
	if o, err := g.c.Get(behind, 0); o != nil || err != nil {
		t.Errorf("a call overtook one of its own group: %v, %v", o, err)
	}
	gone := callActor(t, g.c, g.id, disk, "gone", late)
	if err := g.c.Cancel(gone, false, false); err != nil {
		t.Fatal(err)
	}
	if _, code := outcome(t, g.c, gone); code != fault.TaskCancelled {
		t.Errorf("the cancelled call: %q", code)
	}
	if text, _ := outcome(t, g.c, callActor(t, g.c, g.id, disk, "next")); text != "next" {
		t.Errorf("the call behind the cancelled one: %q", text)
	}
	close(gate)
	for ref, want := range map[ids.Object]string{first: "late", behind: "behind"} {
		if text, code := outcome(t, g.c, ref); text != want || code != "" {
			t.Errorf("%q, %q; want %q", text, code, want)
		}
	}
	close(g.gate)
}

func TestGroups_UnknownOne_IsRefused(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	close(g.gate)
	if _, code := outcome(t, g.c, callActor(t, g.c, g.id, g.method(t, g.c, "disk"), "x")); code != fault.BadRequest {
		t.Errorf("a call of a group that was not declared: %q", code)
	}
	if text, code := outcome(t, g.c, callActor(t, g.c, g.id, g.method(t, g.c, ""), "x")); text != "x" || code != "" {
		t.Errorf("the next call: %q, %q", text, code)
	}
	if _, err := g.a.worker.NextTask(0, "disk"); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a thread of a group that was not declared: %v", err)
	}
}

func TestGroups_CancelledInItsLane_DoesNotRun(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	io := g.method(t, g.c, "io")
	kept, gone := callActor(t, g.c, g.id, io, "kept"), callActor(t, g.c, g.id, io, "gone")
	g.d.eventually("both wait", func() bool { return g.waiting() == 2 })
	if err := g.c.Cancel(gone, false, false); err != nil {
		t.Fatal(err)
	}
	if _, code := outcome(t, g.c, gone); code != fault.TaskCancelled {
		t.Errorf("the cancelled call: %q", code)
	}
	g.serve(t, "io", func(it *Item) {
		if textOf(it) == "gone" {
			t.Error("the cancelled call runs")
		}
	})
	if text, _ := outcome(t, g.c, kept); text != "kept" {
		t.Errorf("the other call: %q", text)
	}
}

func TestGroups_CallerLeaves_ItsCallsLeaveEveryLane(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	other := g.d.driver()
	if _, err := other.OpenActor(g.id, "", "A", 0, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Client{g.c, other} {
		for _, group := range []string{"", "io"} {
			callActor(t, c, g.id, g.method(t, c, group), "x")
		}
	}
	g.d.eventually("three wait and one runs", func() bool { return g.waiting() == 3 && g.inside.Load() == 1 })
	other.Close(0)
	g.d.eventually("one of its lane is left", func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		return g.a.worker.exec.Lane("io").Len() == 1
	})
	close(g.gate)
}

func TestGroups_Released_EveryLaneIsEmptiedFirst(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	close(g.gate)
	ref := callActor(t, g.c, g.id, g.method(t, g.c, "io"), "x")
	g.d.eventually("it waits", func() bool { return g.waiting() == 1 })
	g.d.mu.Lock()
	p := g.d.peerOf[g.a.worker.info.Worker]
	g.d.mu.Unlock()
	if err := p.Push(wire.TActorStop, nil); err != nil {
		t.Fatal(err)
	}
	ended := func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		return g.a.worker.exec.Counts().Draining && !g.a.worker.exec.Going()
	}
	g.d.eventually("the end was asked for", func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		return g.a.worker.exec.Counts().Draining && !g.a.worker.exec.ReadsAll()
	})
	if ended() {
		t.Fatal("the actor ended before a call that had arrived")
	}
	g.serve(t, "io", func(*Item) {})
	if text, code := outcome(t, g.c, ref); text != "x" || code != "" {
		t.Errorf("the call: %q, %q", text, code)
	}
	g.d.eventually("the actor ends", ended)
}

func TestGroups_SystemGroup_ThreadBeginsWithTheFirstCall(t *testing.T) {
	var begun atomic.Int32
	start := make(chan struct{}, 10)
	g := startGrouped(t, nil, func() { begun.Add(1); start <- struct{}{} })
	if n := begun.Load(); n != 0 {
		t.Fatalf("%d threads before the first call", n)
	}
	callActor(t, g.c, g.id, g.method(t, g.c, ""), "blocked")
	system := g.method(t, g.c, SystemGroup)
	first, second := callActor(t, g.c, g.id, system, "1"), callActor(t, g.c, g.id, system, "2")
	select {
	case <-start:
	case <-time.After(testLimit):
		t.Fatal("no thread was begun")
	}
	g.serve(t, SystemGroup, func(*Item) {})
	for _, ref := range []ids.Object{first, second, callActor(t, g.c, g.id, system, "3")} {
		if _, code := outcome(t, g.c, ref); code != "" {
			t.Errorf("a call of the system group: %q", code)
		}
	}
	if n := begun.Load(); n != 1 {
		t.Errorf("%d threads were begun", n)
	}
	close(g.gate)
}
