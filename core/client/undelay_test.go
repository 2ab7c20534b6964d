package client

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// delays takes a task out of its queue until a retry, which is due after a while.
func delays(t *testing.T, c *Client, ref ids.Object, wait time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	x := taskOf(c.table.Find(ref).Source())
	if !x.tmpl.class.queue.remove(x) {
		t.Fatal("the task is in no queue")
	}
	c.again(x, wait, "the test says so")
}

// A task that waits for its retry ends when it is cancelled, and is not queued when the time has come.
func TestUndelay_CancelledBeforeItsRetry_DoesNotRun(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	ref, other := submit(t, c, tm, "x"), submit(t, c, tm, "y")
	delays(t, c, ref, time.Hour)
	delays(t, c, other, time.Hour)
	c.mu.Lock()
	timer := c.delayed[taskOf(c.table.Find(ref).Source())].timer
	c.mu.Unlock()
	if err := c.Cancel(ref, false, false); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the cancelled task", ref, "", fault.TaskCancelled)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.delayed) != 1 || timer.Stop() {
		t.Errorf("%d tasks wait for a retry, want the other one only", len(c.delayed))
	}
}

// A retry is queued when its time has come, before those that were submitted later; one without a wait at once.
func TestAgain_TimeHasCome_RunsBeforeLaterTasks(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Millisecond} {
		d := startDaemon(t)
		c := d.driver()
		tm := template(t, c, "f")
		first, later := submit(t, c, tm, "first"), submit(t, c, tm, "later")
		delays(t, c, first, wait)
		waitFor(t, "it is queued", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return onlyLocked(c).queue.len() == 2 && len(c.delayed) == 0
		})
		var order []string
		d.worker(func(w *Client, it *Item) {
			d.mu.Lock()
			order = append(order, textOf(it))
			d.mu.Unlock()
			echo(w, it)
		})
		expectOutcome(t, c, "the first", first, "first", "")
		expectOutcome(t, c, "the later one", later, "later", "")
		d.mu.Lock()
		if want := []string{"first", "later"}; !slices.Equal(order, want) {
			t.Errorf("after %v: ran %q, want %q", wait, order, want)
		}
		d.mu.Unlock()
	}
}

// What a task needs may be gone, or nothing may be able to run it any more, when its retry is due.
func TestRequeue_WorldHasChangedMeanwhile_TaskSaysSo(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	put := putBytes(t, c, 10, 1)
	lacks, infeasible := submit(t, c, template(t, c, "f"), "", put), submit(t, c, template(t, c, "g"), "x")
	delays(t, c, lacks, time.Hour)
	delays(t, c, infeasible, time.Hour)
	if err := c.Free([]ids.Object{put}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	var tasks []*task
	for _, ref := range []ids.Object{lacks, infeasible} {
		x := taskOf(c.table.Find(ref).Source())
		if !c.undelay(x) || c.undelay(x) {
			t.Error("a task that waits for its retry is taken out never, or twice")
		}
		tasks = append(tasks, x)
	}
	k := tasks[1].tmpl.class
	c.mu.Unlock()
	c.trouble(k.id, fault.New(fault.TaskUnschedulable, "no node has it"))
	c.mu.Lock()
	for _, x := range tasks {
		c.requeue(x)
	}
	if k.queue.len() != 1 || len(c.delayed) != 0 {
		t.Errorf("%d tasks are queued, %d wait for a retry", k.queue.len(), len(c.delayed))
	}
	c.mu.Unlock()
	if code, _, task := faultIn(t, c, lacks); code != fault.ObjectFreed || task != "f" {
		t.Errorf("the task whose argument was freed: %s, of %q", code, task)
	}
	if code, _, _ := faultIn(t, c, infeasible); code != fault.TaskUnschedulable {
		t.Errorf("the task that nothing can run: %s", code)
	}
}
