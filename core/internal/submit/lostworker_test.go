package submit

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// A crash says how often the task was tried, and what the worker said last, if anything.
func TestCrashFault_SaysHowOftenAndTheLastWords(t *testing.T) {
	c := alone()
	c.Node = ids.NewNode()
	node := ", on node " + c.Node.String()
	for _, x := range []struct {
		retries int
		tries   int32
		detail  string
		want    string
	}{
		{0, 1, "it broke", "it broke" + node + " (max_retries=0)"},
		{3, 1, "it broke", "it broke" + node},
		{3, 2, "it broke", "it broke" + node + " (tried 2 times, max_retries=3)"},
		{3, 4, "it broke\nsaid\nmuch", "it broke" + node + " (tried 4 times, max_retries=3)\nsaid\nmuch"},
	} {
		f := c.crashFault(&Task{Template: &Template{Name: "f", MaxRetries: x.retries}, Attempts: retry.Attempts{Tries: x.tries}}, new(Lease), x.detail)
		if want := "the worker that ran f died: " + x.want; f.Code != fault.WorkerCrashed || f.Message != want {
			t.Errorf("%s: %q, want %q", f.Code, f.Message, want)
		}
	}
	if times(1) != "once" || times(2) != "2 times" {
		t.Errorf("%s, %s", times(1), times(2))
	}
}

// taken is a submitted task that a test takes out of its queue, as if a worker had it; mu is held afterwards.
func taken(t *testing.T, c *quiet, tm int) (*Task, *refs.Object) {
	t.Helper()
	id := submitText(t, c, tm, "x")
	c.mu.Lock()
	k := c.Templates[tm].Class
	if k.Queue.Len() != 1 {
		t.Fatalf("%d tasks wait", k.Queue.Len())
	}
	return k.Queue.Pop(), c.table.Find(id)
}

// What becomes of a task whose worker is lost: it is tried again as often as it may, and waits first when
// workers end with it again and again. A reason that the daemon told ends it at once.
func TestLostWithWorker_TaskRunsAgainAsOftenAsItMay(t *testing.T) {
	for _, x := range []struct {
		what    string
		retries int
		tries   int32
		crashes uint8
		code    fault.Code
		ran     bool

		queued, waits bool
		failure       fault.Code
		words         string
	}{
		{what: "no retries", ran: true, failure: fault.WorkerCrashed, words: "the worker that ran f died: it broke, on node"},
		{what: "the first of one retry", retries: 1, ran: true, queued: true},
		{what: "the first of one retry is used", retries: 1, tries: 1, ran: true, failure: fault.WorkerCrashed, words: "(tried 2 times, max_retries=1)"},
		{what: "without end", retries: -1, tries: 99, ran: true, queued: true},
		{what: "a second worker ended with it", retries: 5, tries: 1, crashes: 1, ran: true, waits: true},
		{what: "it had run, and its answer is lost", retries: 5, crashes: 1, queued: true},
		{what: "the daemon ended the worker for a reason", retries: 5, code: fault.OutOfMemory + "-of-gpu", ran: true, failure: fault.OutOfMemory + "-of-gpu", words: "it broke"},
		{what: "it had run in a worker that was ended for a reason", retries: 5, code: fault.OutOfMemory + "-of-gpu", queued: true},
	} {
		c := newQuiet(t)
		k, o := taken(t, c, retried(t, c, "f", x.retries))
		k.Tries, k.Crashes = x.tries, x.crashes
		begun := 2 // the task is the first of two
		if x.ran {
			begun = 1
		}
		l := &Lease{Code: x.code}
		queued := c.lostWithWorker(k, l, "it broke\nits last words", setbackAt(l, 0, begun))
		if queued != x.queued || (c.Delayed[k] != nil) != x.waits || (o.State() == refs.Failed) != (x.failure != "") {
			t.Errorf("%s: queued %v, waits %v, state %d", x.what, queued, c.Delayed[k] != nil, o.State())
		}
		if want := x.tries + 1; x.code == "" && k.Tries != want {
			t.Errorf("%s: %d tries, want %d", x.what, k.Tries, want)
		}
		if d := c.Delayed[k]; d != nil {
			if d.until.Sub(d.since) < 25*time.Millisecond || !strings.Contains(d.describe(time.Now()), "its worker died, 2 times so far") {
				t.Errorf("%s: it waits %v, %s", x.what, d.until.Sub(d.since), d.why)
			}
		}
		if f := o.Fault(); x.failure != "" && (f == nil || f.Code != x.failure || !strings.Contains(f.Message, x.words) || !strings.HasSuffix(f.Message, "\nits last words")) {
			t.Errorf("%s: %v", x.what, f)
		}
		c.mu.Unlock()
	}
}
