package submit

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A task whose worker was ended for want of memory is tried again without end, or as often as the variable
// says, and waits longer each time. It costs none of its retries; a task without retries has none of these.
func TestOutOfMemory_TaskIsTriedAgainAsOftenAsItMay(t *testing.T) {
	for _, x := range []struct {
		what    string
		retries int
		ooms    uint8
		env     map[string]int
		waits   time.Duration // before it is tried again; 0: it fails
		words   string        // why it waits, or that it is not tried again
	}{
		{"the first time", 3, 0, nil, time.Second, "the machine ran out of memory, once so far"},
		{"the third time", 1, 2, nil, 4 * time.Second, "the machine ran out of memory, 3 times so far"},
		{"without end", -1, 255, nil, time.Minute, "the machine ran out of memory, 255 times so far"},
		{"another delay", 3, 1, map[string]int{"task_oom_retry_delay_base_ms": 300}, 600 * time.Millisecond, "2 times so far"},
		{"the last that is allowed", 3, 1, map[string]int{"task_oom_retries": 2}, 2 * time.Second, "2 times so far"},
		{"more than is allowed", 3, 2, map[string]int{"task_oom_retries": 2}, 0, "\nIt was tried 3 times (task_oom_retries=2)."},
		{"none is allowed", 3, 0, map[string]int{"task_oom_retries": 0}, 0, "\nIt was tried once (task_oom_retries=0)."},
		{"a task without retries", 0, 0, nil, 0, "\nIt is not tried again (max_retries=0)."},
	} {
		c := newQuiet(t)
		c.numbers = x.env
		k, o := taken(t, c, retried(t, c, "f", x.retries))
		k.OOMs = x.ooms
		l := &Lease{Code: fault.OutOfMemory, Held: 5 << 20}
		if c.lostWithWorker(k, l, "there was no memory", setbackAt(l, 0, 1)) {
			t.Errorf("%s: it is queued at once", x.what)
		}
		if k.Tries != 0 || k.Crashes != 0 {
			t.Errorf("%s: it costs %d retries and %d crashes", x.what, k.Tries, k.Crashes)
		}
		switch d := c.Delayed[k]; {
		case x.waits > 0 && (d == nil || d.until.Sub(d.since) != x.waits || !strings.Contains(d.why, x.words) || o.State() != refs.Pending):
			t.Errorf("%s: it waits as %+v, state %d", x.what, d, o.State())
		case x.waits == 0 && (d != nil || o.State() != refs.Failed || o.Fault().Code != fault.OutOfMemory || o.Fault().Message != "there was no memory"+x.words):
			t.Errorf("%s: it waits as %+v, and has %v", x.what, d, o.Fault())
		}
		c.mu.Unlock()
	}
}

// A task that asks for more memory with each retry fails when the node has no more, and says what it asked for.
func TestOutOfMemory_NodeHasNoMore_SaysWhatItAskedFor(t *testing.T) {
	for _, x := range []struct {
		what  string
		total int64
		asked int64
		env   map[string]int
		ooms  uint8
		words string // "": it is tried again

		largest int64 // what the largest node has, 0: this node is alone
	}{
		{"it asks for all", 100 * mib, 100 * mib, map[string]int{}, 1, "\nIt was tried 2 times, the last time with memory=104857600, which is all that the node has.", 0},
		{"it asks for half", 100 * mib, 50 * mib, map[string]int{}, 1, "", 0},
		{"it asks for half and may not again", 100 * mib, 50 * mib, map[string]int{"task_oom_retries": 1}, 1, "\nIt was tried 2 times, the last time with memory=52428800 (task_oom_retries=1).", 0},
		{"it has asked for none and may not again", 100 * mib, 0, map[string]int{"task_oom_retries": 0}, 0, "\nIt was tried once (task_oom_retries=0).", 0},
		{"it has asked for none", 100 * mib, 0, map[string]int{}, 0, "", 0},
		{"it asks for all, and another node has more", 100 * mib, 100 * mib, map[string]int{}, 1, "", 150 * mib},
		{"it asks for all that the largest node has", 100 * mib, 150 * mib, map[string]int{}, 1, "\nIt was tried 2 times, the last time with memory=157286400, which is all that any node has.", 150 * mib},
	} {
		c := newQuiet(t)
		c.numbers = x.env
		c.Totals.Resources = map[string]int64{templates.MemoryName: x.total}
		id, err := c.NewTemplate(&Template{Name: "f", FID: []byte("fffffffffffffff1"), Returns: 1, MaxRetries: 3, MoreMemory: true,
			Resources: map[string]int64{templates.MemoryName: x.asked}})
		if err != nil {
			t.Fatal(err)
		}
		k, o := taken(t, c, id)
		k.OOMs = x.ooms
		if x.largest > 0 {
			c.Leases[9] = &Lease{ID: 9}
			c.LeaseBroken(&wire.LeaseBroken{LeaseID: 9, Memory: x.largest})
			delete(c.Leases, 9)
		}
		c.outOfMemory(k, "there was no memory", 7<<20)
		got := ""
		if o.State() == refs.Failed {
			got = strings.TrimPrefix(o.Fault().Message, "there was no memory")
		}
		if got != x.words || (c.Delayed[k] != nil) != (x.words == "") {
			t.Errorf("%s: %q, want %q", x.what, got, x.words)
		}
		if want := min(max(x.total, x.largest), max(2*x.asked, 16*mib)); x.words == "" && k.Template.Resources[templates.MemoryName] != want {
			t.Errorf("%s: it asks for %d, want %d", x.what, k.Template.Resources[templates.MemoryName], want)
		}
		c.mu.Unlock()
	}
}

// What a retry with more memory runs as begins without a past, and goes when nothing needs it any more.
func TestEnlarge_TemplateOfTheRetry_BeginsAnewAndGoes(t *testing.T) {
	c := newQuiet(t)
	c.Totals.Resources = map[string]int64{templates.MemoryName: 1000 * mib}
	id, err := c.NewTemplate(&Template{Name: "f", FID: []byte("fffffffffffffff1"), Returns: 1, MaxRetries: 3, MoreMemory: true,
		Fallback: []*Template{{}}})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := taken(t, c, id)
	defer c.mu.Unlock()
	tm := c.Templates[id]
	tm.RecipeKept()
	if !c.Enlarge(k, 60<<20) {
		t.Fatal("it may not ask for more")
	}
	one := k.Template
	if one.Open != 1 || tm.Open != 0 || one.Retired() || one.Larger != nil || one.Class == tm.Class || one.ID == id {
		t.Errorf("the retry runs as %+v", one)
	}
	if one.Fallback[0].Resources[templates.MemoryName] != 128*mib {
		t.Errorf("its alternative asks for %v", one.Fallback[0].Resources)
	}
	// What was held differs from retry to retry of the same function. The next size takes the place of this
	// one, which goes when its task has run.
	other := &Task{Template: tm}
	if !c.Enlarge(other, 200<<20) || tm.Larger != other.Template || other.Template == one || !one.Retired() || c.Templates[one.ID] != one {
		t.Errorf("the next one runs as %+v, the first is retired %v", other.Template, one.Retired())
	}
	one.Open = 0
	if c.dropTemplate(one); c.Templates[one.ID] == one {
		t.Error("the first one is kept though no task runs as it")
	}
}
