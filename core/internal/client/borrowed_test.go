package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// borrowIn has a process import an object of another one.
func borrowIn(t *testing.T, c, owner *Client, id ids.Object) {
	t.Helper()
	if err := c.Import(id, owner.info.Addr, 0); err != nil {
		t.Fatal(err)
	}
}

// The references of an owner that cannot be reached fail, and nothing waits for their registration.
func TestRegister_OwnerCannotBeReached_ReferencesFailAndNothingWaits(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	owner, nobody, _ := d.stranger()
	id := ids.NewObject(1, owner, ids.JobOf(1), 0)
	registered := make(chan struct{})
	c.mu.Lock()
	c.table.Ref(c.table.Borrow(id, nobody)) // the attempt to connect ends when the lock is free
	if c.table.Unregistered() != 1 {
		t.Errorf("%d registrations are under way, want 1", c.table.Unregistered())
	}
	c.table.AwaitRegistered(wait.Calling(func() { close(registered) }))
	c.mu.Unlock()
	expectOutcome(t, c, "the reference", id, "", fault.OwnerDied)
	waitFor(t, "who waits for the registration goes on", func() bool {
		select {
		case <-registered:
			return true
		default:
			return false
		}
	})
	c.mu.Lock()
	if c.table.Unregistered() != 0 {
		t.Errorf("%d registrations are under way", c.table.Unregistered())
	}
	c.mu.Unlock()
	letGo(t, c, id)
}

// What an owner has let go of, it says so of; a reference to it is not waited for.
func TestAsk_OwnerHasLetGo_BorrowerIsToldWhy(t *testing.T) {
	d := startDaemon(t)
	c, owner := d.driver(), d.driver()
	gone := ids.NewObject(1<<40, owner.self, owner.info.Job, 0)
	borrowIn(t, c, owner, gone)
	if code, words, _ := faultIn(t, c, gone); code != fault.LostBorrowed || !strings.Contains(words, gone.String()) {
		t.Errorf("%s, %s", code, words)
	}
	letGo(t, c, gone)
}

// A borrower hears that a task or a call can never be scheduled, and gets its value if it can after all.
func TestAnswered_NothingCanRunIt_BorrowerIsToldAndGetsItLater(t *testing.T) {
	d := startDaemon(t)
	c, owner := d.driver(), d.driver()
	ref := submitText(t, owner, template(t, owner, "f"), "x")
	borrowIn(t, c, owner, ref)
	owner.trouble(onlyClass(t, owner).ID, fault.New(fault.TaskUnschedulable, "no node has it"))
	infeasible, _, err := c.Wait([]ids.Object{ref}, 1, testLimit, WaitSome, func(_ int, ready bool) {
		if ready {
			t.Error("it is ready")
		}
	})
	if infeasible != 1 || err != nil {
		t.Errorf("%d are infeasible, %v", infeasible, err)
	}
	if code, words, _ := faultIn(t, c, ref); code != fault.TaskUnschedulable || !strings.Contains(words, "no node has it") {
		t.Errorf("%s, %s", code, words)
	}
	d.worker(echo)
	get(t, owner, ref)
	waitFor(t, "the borrower gets the value", func() bool {
		f, err := c.Get(ref, testLimit)
		return err == nil && f != nil && !f.IsError && meta(t, f) == "x"
	})
	letGo(t, c, ref)
	letGo(t, owner, ref)
}

// The error of a task reaches its borrowers with its code, its words and the task's name.
func TestAnswered_TaskFails_BorrowerGetsTheSameFault(t *testing.T) {
	d := startDaemon(t)
	c, owner := d.driver(), d.driver()
	ref := submitText(t, owner, template(t, owner, "f"), "x")
	next := submitText(t, owner, template(t, owner, "g"), "y", ref)
	borrowIn(t, c, owner, ref)
	borrowIn(t, c, owner, next)
	if err := owner.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	for what, id := range map[string]ids.Object{"the task": ref, "what takes it": next} {
		code, words, task := faultIn(t, owner, id)
		code2, words2, task2 := faultIn(t, c, id)
		if code != fault.TaskCancelled || code != code2 || words != words2 || task != task2 {
			t.Errorf("%s: the owner has %s, %q, %q and the borrower %s, %q, %q", what, code, words, task, code2, words2, task2)
		}
	}
	letGo(t, c, ref, next)
	letGo(t, owner, ref, next)
}
