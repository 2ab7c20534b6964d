package client

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// retried is a template whose tasks may be tried again so often.
func retried(t *testing.T, c *Client, name string, retries int) int {
	t.Helper()
	return tasks(t, c, name, 1, retries)
}

// triedAgain is a template of tasks that are tried again also when they raise.
func triedAgain(t *testing.T, c *Client, returns, retries int) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: []byte("sixteen bytes id"), Blob: []byte("f"), Returns: returns, MaxRetries: retries, RetryErrs: true})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func expectOutcome(t *testing.T, c *Client, what string, ref ids.Object, text string, code fault.Code) {
	t.Helper()
	if gotText, gotCode := outcome(t, c, ref); gotText != text || gotCode != code {
		t.Errorf("%s: got %q, %q, want %q, %q", what, gotText, gotCode, text, code)
	}
}

// onlyClass is the scheduling class of a process that has one.
func onlyClass(t *testing.T, c *Client) *submit.Class {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.Classes) != 1 {
		t.Fatalf("%d classes", len(c.submit.Classes))
	}
	for _, k := range c.submit.Classes {
		return k
	}
	return nil
}

// A task that was not sent ends at once when it is cancelled, with what waits
// for it; others of the queue stay, and no lease is wanted for it any more.
func TestCancel_NotSent_EndsAtOnceAndOthersStay(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	first, second := submitText(t, c, tm, "first"), submitText(t, c, tm, "second")
	waits := submitText(t, c, tm, "waits", first)
	k := onlyClass(t, c)
	if err := c.Cancel(first, false, true); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "the cancelled task", first, "", fault.TaskCancelled)
	expectOutcome(t, c, "a task that takes it", waits, "", fault.TaskCancelled)
	c.mu.Lock()
	if n := k.Queue.Len(); n != 1 {
		t.Errorf("%d tasks are queued, want one", n)
	}
	c.mu.Unlock()
	for _, again := range []ids.Object{first, waits} { // finished ones are left alone
		if err := c.Cancel(again, true, true); err != nil {
			t.Error(err)
		}
	}
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(put, false, false); err != nil {
		t.Errorf("what nobody computes: %v", err)
	}
	d.worker(echo)
	expectOutcome(t, c, "the other task", second, "second", "")
	if err := c.Cancel(second, true, false); err != nil {
		t.Errorf("a finished task: %v", err)
	}
	expectOutcome(t, c, "the other task, afterwards", second, "second", "")
}

// An environment that cannot be made fails what is queued, and later tasks try
// again; what no node can ever run is told while it waits, and runs if it can after all.
func TestTrouble_OfAClass_IsTold(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	a, b := submitText(t, c, tm, "a"), submitText(t, c, tm, "b")
	k := onlyClass(t, c)
	c.trouble(k.ID+1, fault.New(fault.RuntimeEnvSetup, "of another class"))
	c.trouble(k.ID, fault.New(fault.RuntimeEnvSetup, "no such module"))
	expectOutcome(t, c, "a", a, "", fault.RuntimeEnvSetup)
	expectOutcome(t, c, "b", b, "", fault.RuntimeEnvSetup)
	late := submitText(t, c, tm, "late")
	c.trouble(k.ID, fault.New(fault.TaskUnschedulable, "it needs 9 CPUs"))
	expectOutcome(t, c, "late", late, "", fault.TaskUnschedulable)
	later := submitText(t, c, tm, "later")
	expectOutcome(t, c, "later", later, "", fault.TaskUnschedulable)
	d.worker(echo)
	for what, ref := range map[string]ids.Object{"late": late, "later": later} {
		waitFor(t, what+" runs after all", func() bool {
			f, err := c.Get(ref, testLimit)
			return err == nil && f != nil && !f.IsError
		})
	}
}

// A lease that the daemon wants back goes when it has nothing to do; one that
// works goes after what was sent.
func TestRecalled_GoesBackWhenItIsIdle(t *testing.T) {
	d := startDaemon(t)
	gate := make(chan struct{})
	d.worker(func(c *Client, it *Item) {
		if textOf(it) == "waits" {
			<-gate
		}
		echo(c, it)
	})
	c := d.driver()
	tm := template(t, c, "f")
	only := func() (id uint64, l *submit.Lease) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for id, l = range c.submit.Leases {
			return id, l
		}
		return 0, nil
	}
	ref := submitText(t, c, tm, "waits")
	waitFor(t, "it runs", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, l := range c.submit.Leases {
			return l.Busy > 0
		}
		return false
	})
	id, _ := only()
	c.recalled(id + 1)
	c.recalled(id)
	if _, l := only(); l == nil || !l.Recall {
		t.Fatal("a lease that works goes back while its task runs")
	}
	close(gate)
	expectOutcome(t, c, "the task", ref, "waits", "")
	d.eventually("the lease goes back", func() bool { return len(d.returned) == 1 && d.returned[0] == id })
}

// A worker's end costs the task that ran a try; the error names the task, how
// it ended, and how often it was tried. Kinds of ends that have a code of their
// own are that code.
func TestWorkerDies_TaskIsTriedAgainOrFails(t *testing.T) {
	for _, step := range []struct {
		name    string
		retries int
		told    wire.LeaseBroken
		code    fault.Code
		words   []string
	}{
		{"no retries", 0, wire.LeaseBroken{Detail: "worker pid 7 was killed\nlast words"}, fault.WorkerCrashed, []string{"f died: worker pid 7 was killed", "(max_retries=0)", "\nlast words"}},
		{"some retries", 1, wire.LeaseBroken{Detail: "worker pid 7 was killed"}, "", nil},
		{"no memory, no retries", 0, wire.LeaseBroken{Detail: "too much", Code: string(fault.OutOfMemory), Bytes: 1}, fault.OutOfMemory, []string{"too much", "It is not tried again (max_retries=0)"}},
		{"too much of a device", 3, wire.LeaseBroken{Detail: "too much", Code: string(fault.GPUMemoryExceeded)}, fault.GPUMemoryExceeded, []string{"too much"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			d := startDaemon(t)
			begun, hang := make(chan struct{}, 4), make(chan struct{})
			worker := d.worker(func(*Client, *Item) { // it never answers
				begun <- struct{}{}
				<-hang
			})
			t.Cleanup(func() { close(hang) })
			c := d.driver()
			ref := submitText(t, c, retried(t, c, "f", step.retries), "x")
			<-begun
			c.mu.Lock()
			for id := range c.submit.Leases {
				step.told.LeaseID = id
			}
			c.mu.Unlock()
			if step.code == "" {
				d.worker(echo)
			}
			c.brokenLease(&wire.LeaseBroken{LeaseID: step.told.LeaseID + 1})
			c.brokenLease(&step.told)
			worker.mu.Lock()
			for _, k := range worker.exec.Callers() {
				connOf(k).Close()
			}
			worker.poller.LookSoon()
			worker.mu.Unlock()
			if step.code == "" {
				expectOutcome(t, c, step.name, ref, "x", "")
				return
			}
			began := time.Now()
			expectOutcome(t, c, step.name, ref, "", step.code)
			if took := time.Since(began); took > testLimit/2 { // the wait would end by itself after testLimit
				t.Errorf("the wait went on for %v after the worker's end was told", took)
			}
			f, err := c.Get(ref, testLimit)
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range step.words {
				if !strings.Contains(string(f.Envelope), words) {
					t.Errorf("%q lacks %q", f.Envelope, words)
				}
			}
		})
	}
}

// What the program frees is gone for whoever has a reference; what is not
// ready stays.
func TestFree_ReadyValuesGo_OthersStay(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	tm := template(t, c, "f")
	small, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("small")})
	if err != nil {
		t.Fatal(err)
	}
	large, err := c.Put(&Value{Fmt: FmtBytes, Meta: make([]byte, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	pending := submitText(t, c, tm, "pending")
	if err := c.Free([]ids.Object{small, large, pending}); err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, c, "a small value", small, "", fault.ObjectFreed)
	expectOutcome(t, c, "a large value", large, "", fault.ObjectFreed)
	d.eventually("its copy goes", func() bool { return d.freed[string(large[:])] && !d.freed[string(small[:])] })
	d.worker(echo)
	expectOutcome(t, c, "what was not ready", pending, "pending", "")
	takes := submitText(t, c, tm, "takes", small)
	expectOutcome(t, c, "a task that takes it", takes, "", fault.ObjectFreed)
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 0)
	if err := c.Free([]ids.Object{unknown}); err == nil {
		t.Error("an object that nobody knows is freed")
	}
}
