package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// infeasible is an owner with two tasks, which no node can run at first, and a borrower who knows that of their results.
type infeasible struct {
	t        *testing.T
	d        *fakeDaemon
	owner, c *Client
	refs     [2]ids.Object
	gates    map[string]chan struct{} // one for each task, which runs when it is closed
}

func startInfeasible(t *testing.T) *infeasible {
	x := &infeasible{t: t, d: startDaemon(t), gates: map[string]chan struct{}{}}
	x.c, x.owner = x.d.driver(), x.d.driver()
	tm := template(t, x.owner, "f")
	for i, text := range []string{"first", "second"} {
		x.gates[text] = make(chan struct{})
		x.refs[i] = submitText(t, x.owner, tm, text)
		borrowIn(t, x.c, x.owner, x.refs[i])
	}
	x.owner.trouble(onlyClass(t, x.owner).ID, fault.New(fault.TaskUnschedulable, "no node has it"))
	for _, ref := range x.refs {
		if code, words, _ := faultIn(t, x.c, ref); code != fault.TaskUnschedulable {
			t.Fatalf("the borrower is told %s, %s", code, words)
		}
	}
	return x
}

// come starts workers. Each runs one task when its gate is closed.
func (x *infeasible) come() {
	for range x.gates {
		x.d.worker(func(c *Client, it *Item) {
			<-x.gates[textOf(it)]
			echo(c, it)
		})
	}
}

func (x *infeasible) close(list ...string) {
	for _, text := range list {
		close(x.gates[text])
	}
}

// patient waits until the owner has so many questions of borrowers who know that a result is infeasible.
func (x *infeasible) patient(i, n int) {
	x.t.Helper()
	waitFor(x.t, "the owner has the borrower's question", func() bool {
		x.owner.mu.Lock()
		defer x.owner.mu.Unlock()
		return len(x.owner.table.Find(x.refs[i]).PatientQuestions()) == n
	})
}

func (x *infeasible) letGo(more ...ids.Object) {
	x.t.Helper()
	letGo(x.t, x.c, append(more, x.refs[:]...)...)
	letGo(x.t, x.owner, x.refs[:]...)
}

// A borrower that waits for an object which no node could make hears when it comes after all, and asks no second time for that.
func TestAwaitFeasible_BorrowerWaitsAlready_HearsWhenItComes(t *testing.T) {
	for need, gates := range map[int][]string{1: {"first"}, 2: {"first", "second"}} {
		x := startInfeasible(t)
		mine := submitText(t, x.c, template(t, x.c, "mine"), "mine")
		x.gates["mine"] = make(chan struct{})
		var ready []int
		over := make(chan error, 1)
		began := x.begun()
		go func() {
			_, _, err := x.c.Wait([]ids.Object{x.refs[0], x.refs[1], mine}, need, testLimit, WaitSome, func(i int, is bool) {
				if is {
					ready = append(ready, i)
				}
			})
			over <- err
		}()
		began()
		x.come()
		x.close(gates...)
		if err := <-over; err != nil || len(ready) < need || ready[len(ready)-1] >= need {
			t.Errorf("%v are ready, %v, want the first %d", ready, err, need)
		}
		x.close(map[int][]string{1: {"second", "mine"}, 2: {"mine"}}[need]...)
		get(t, x.c, mine)
		x.letGo(mine)
	}
}

// begun returns a function that waits until the borrower has begun one more wait.
func (x *infeasible) begun() func() {
	count := func() (n uint32) {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		return x.c.table.WaitsBegun()
	}
	before := count()
	return func() {
		x.t.Helper()
		waitFor(x.t, "the wait has begun", func() bool { return count() > before })
	}
}

// A wait for several objects that counts one of them as infeasible and then as ready counts it once: it goes on until the others have come.
func TestAwaitFeasible_OneOfSeveralComesAfterAll_WaitGoesOnForTheOthers(t *testing.T) {
	x := startInfeasible(t)
	mine := submitText(t, x.c, template(t, x.c, "mine"), "mine")
	x.gates["mine"] = make(chan struct{})
	over := make(chan int, 1)
	began := x.begun()
	go func() {
		n := 0
		_, _, _ = x.c.Wait([]ids.Object{x.refs[0], mine}, 2, testLimit, WaitSome, func(_ int, is bool) {
			if is {
				n++
			}
		})
		over <- n
	}()
	began()
	x.come()
	x.close("first")
	waitFor(t, "the borrower has the first value", func() bool {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		return x.c.table.Find(x.refs[0]).State().Ready()
	})
	x.close("mine")
	if n := <-over; n != 2 {
		t.Errorf("the wait for both ended with %d", n)
	}
	x.close("second")
	x.letGo(mine)
}

// A borrower's task that takes such an object runs when the object comes, though nobody asks for either.
func TestAwaitFeasible_BorrowersTaskTakesIt_RunsWhenItComes(t *testing.T) {
	x := startInfeasible(t)
	takes := submitText(t, x.c, template(t, x.c, "takes"), "", x.refs[0])
	if code, _, _ := faultIn(t, x.c, takes); code != fault.TaskUnschedulable {
		t.Errorf("before, what takes it is %s", code)
	}
	x.gates[""] = make(chan struct{})
	x.close("first", "second", "")
	x.come()
	waitFor(t, "the borrower's task has run", func() bool {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		return x.c.table.Find(takes).State() == refs.Inline
	})
	if got := get(t, x.c, takes); got != "first" {
		t.Errorf("it gives %q", got)
	}
	x.letGo(takes)
}

// However often a borrower asks for an object that it knows to be infeasible, one question of its waits at the owner.
// The owner's end is told as such.
func TestAwaitFeasible_OwnerEnds_BorrowerIsTold(t *testing.T) {
	x := startInfeasible(t)
	for range 3 {
		if code, _, _ := faultIn(t, x.c, x.refs[0]); code != fault.TaskUnschedulable {
			t.Errorf("the borrower is told %s", code)
		}
	}
	x.patient(0, 1)
	x.owner.Close(0)
	waitFor(t, "the borrower hears of the owner's end", func() bool {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		return x.c.table.Find(x.refs[0]).State() == refs.Failed
	})
	letGo(t, x.c, x.refs[:]...)
	waitFor(t, "no question is noted any more", func() bool {
		x.c.mu.Lock()
		defer x.c.mu.Unlock()
		return x.c.table.Patient() == 0
	})
}

// What a borrower waits for comes also when the owner or the borrower has handed over to a successor meanwhile.
func TestAwaitFeasible_OneOfThemMovesAway_ValueComes(t *testing.T) {
	for _, ownerMoves := range []bool{true, false} {
		d := startDaemon(t)
		d.successors()
		roles := []string{wire.RoleWorker, wire.RoleDriver}
		if !ownerMoves {
			slices.Reverse(roles)
		}
		owner, borrower, reader := d.member(t, roles[0]), d.member(t, roles[1]), d.member(t, wire.RoleDriver)
		ref := owner.submit(t, template(t, owner.c, "f"), "made")
		owner.give(t, ref, borrower)
		owner.c.trouble(onlyClass(t, owner.c).ID, fault.New(fault.TaskUnschedulable, "no node has it"))
		takes := borrower.submit(t, template(t, borrower.c, "g"), "", ref)
		borrower.give(t, takes, reader)
		waitFor(t, "the borrower knows and has asked", func() bool {
			owner.c.mu.Lock()
			defer owner.c.mu.Unlock()
			return len(owner.c.table.Find(ref).PatientQuestions()) == 1
		})
		if code, words, _ := faultIn(t, reader.c, takes); code != fault.TaskUnschedulable {
			t.Errorf("what takes it is %s, %s", code, words)
		}
		moves, stays := owner, borrower
		if !ownerMoves {
			moves, stays = borrower, owner
		}
		if err := moves.c.Exiting("test"); err != nil {
			t.Fatal(err)
		}
		moves.vanish()
		d.worker(echo)
		waitFor(t, "the reader, who asks no more, has the value", func() bool {
			reader.c.mu.Lock()
			defer reader.c.mu.Unlock()
			return reader.c.table.Find(takes).State() == refs.Inline
		})
		reader.check(t, takes, "made")
		reader.drop(takes)
		for id := range stays.refs {
			stays.drop(id)
		}
		d.eventually("the successor ends", func() bool { return d.ended == 1 })
		stays.c.Close(0)
		reader.c.Close(0)
	}
}
