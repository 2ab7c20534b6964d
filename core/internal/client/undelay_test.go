package client

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// delays takes a task out of its queue until a retry, which is due after a while.
func delays(t *testing.T, c *Client, ref ids.Object, wait time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	x := submit.TaskOf(c.table.Find(ref).Source())
	if !x.LeaveQueue() {
		t.Fatal("the task is in no queue")
	}
	c.submit.Again(x, wait, "the test says so")
}

// A task that waits for its retry ends when it is cancelled, and is not queued when the time has come.
func TestUndelay_CancelledBeforeItsRetry_DoesNotRun(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	ref, other := submitText(t, c, tm, "x"), submitText(t, c, tm, "y")
	delays(t, c, ref, time.Hour)
	delays(t, c, other, time.Hour)
	c.mu.Lock()
	timer := c.submit.Delayed[submit.TaskOf(c.table.Find(ref).Source())].Timer
	c.mu.Unlock()
	if err := c.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the cancelled task", ref, "", fault.TaskCancelled)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.Delayed) != 1 || timer.Stop() {
		t.Errorf("%d tasks wait for a retry, want the other one only", len(c.submit.Delayed))
	}
}

// A retry is queued when its time has come, before those that were submitted later; one without a wait at once.
func TestAgain_TimeHasCome_RunsBeforeLaterTasks(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Millisecond} {
		d := startDaemon(t)
		c := d.driver()
		tm := template(t, c, "f")
		first, later := submitText(t, c, tm, "first"), submitText(t, c, tm, "later")
		delays(t, c, first, wait)
		waitFor(t, "it is queued", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return onlyLocked(c).Queue.Len() == 2 && len(c.submit.Delayed) == 0
		})
		ran := d.echoesInOrder()
		expectOutcome(t, c, "the first", first, "first", "")
		expectOutcome(t, c, "the later one", later, "later", "")
		if got, want := ran(), []string{"first", "later"}; !slices.Equal(got, want) {
			t.Errorf("after %v: ran %q, want %q", wait, got, want)
		}
	}
}

// What a task needs may be gone, or nothing may be able to run it any more, when its retry is due.
func TestRequeue_WorldHasChangedMeanwhile_TaskSaysSo(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	put := putBytes(t, c, 10, 1)
	lacks, infeasible := submitText(t, c, template(t, c, "f"), "", put), submitText(t, c, template(t, c, "g"), "x")
	delays(t, c, lacks, time.Hour)
	delays(t, c, infeasible, time.Hour)
	if err := c.Free([]ids.Object{put}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	var tasks []*submit.Task
	for _, ref := range []ids.Object{lacks, infeasible} {
		x := submit.TaskOf(c.table.Find(ref).Source())
		if !c.submit.Undelay(x) || c.submit.Undelay(x) {
			t.Error("a task that waits for its retry is taken out never, or twice")
		}
		tasks = append(tasks, x)
	}
	k := tasks[1].Template.Class
	c.mu.Unlock()
	c.trouble(k.ID, fault.New(fault.TaskUnschedulable, "no node has it"))
	c.mu.Lock()
	for _, x := range tasks {
		c.submit.Requeue(x)
	}
	if k.Queue.Len() != 1 || len(c.submit.Delayed) != 0 {
		t.Errorf("%d tasks are queued, %d wait for a retry", k.Queue.Len(), len(c.submit.Delayed))
	}
	c.mu.Unlock()
	if code, _, task := faultIn(t, c, lacks); code != fault.ObjectFreed || task != "f" {
		t.Errorf("the task whose argument was freed: %s, of %q", code, task)
	}
	if code, _, _ := faultIn(t, c, infeasible); code != fault.TaskUnschedulable {
		t.Errorf("the task that nothing can run: %s", code)
	}
}
