package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// tells answers with the name of the function that was to run.
func tells(c *Client, it *Item) {
	if err := c.Reply(it.Token, []Value{{Fmt: FmtPickle, Meta: []byte(it.Tmpl.Name)}}, 0); err != nil {
		panic(err)
	}
}

// either registers a function that needs a GPU, with another one that does not.
func either(t *testing.T, c *Client, afterMs int64) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindTask, Name: "gpu", FID: []byte(fmt.Sprintf("%-16s", "gpu")), Blob: []byte("gpu"), Returns: 1,
		Resources: map[string]int64{"GPU": 10000}, AfterMs: afterMs, Fallback: []*Template{
			{Resources: map[string]int64{"CPU": 10000}},
			{Name: "cpu", FID: []byte(fmt.Sprintf("%-16s", "cpu")), Blob: []byte("cpu"), Resources: map[string]int64{"CPU": 10000}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (d *fakeDaemon) gives(choice int, better bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.choice, d.better = choice, better
}

func TestSubmit_Alternatives_RunAsTheLeaseSays(t *testing.T) {
	d := startDaemon(t)
	d.worker(tells)
	c := d.driver()
	tm := either(t, c, 0)
	for choice, want := range []string{"gpu", "gpu", "cpu"} {
		d.gives(choice, true)
		if got := get(t, c, submitText(t, c, tm, "x")); got != want {
			t.Errorf("choice %d ran %s, want %s", choice, got, want)
		}
		if choice == 0 { // a lease of the best choice is kept for a while
			c.mu.Lock()
			for _, l := range c.submit.Leases {
				c.submit.ReturnLease(l)
			}
			c.mu.Unlock()
		}
		d.eventually("the lease comes back", func() bool { return d.given == choice+1 })
	}
}

func TestSubmit_LeaseOfAnAlternative_GoesBackWhenABetterOneMayCome(t *testing.T) {
	for _, x := range []struct {
		better bool
		after  int64
		leases int // given back at once for three tasks, one after the other
	}{{false, 0, 0}, {true, 0, 3}, {true, 1000, 3}} {
		d := startDaemon(t)
		d.worker(tells)
		c := d.driver()
		tm := either(t, c, x.after)
		d.gives(2, x.better)
		d.never = true // nothing is waited for
		for i := range 3 {
			get(t, c, submitText(t, c, tm, "x"))
			if x.leases > 0 {
				d.eventually("the lease comes back", func() bool { return d.given == i+1 })
			}
		}
		d.mu.Lock()
		if d.given != x.leases {
			t.Errorf("better %v, after %d ms: %d leases came back, want %d", x.better, x.after, d.given, x.leases)
		}
		d.mu.Unlock()
	}
}

func TestSubmit_WaitedForTheBest_OneTaskForEachLease(t *testing.T) {
	d := startDaemon(t)
	had := map[*execute.Caller]int{} // tasks by lease
	most := 0
	d.worker(func(c *Client, it *Item) {
		c.mu.Lock()
		in := c.exec.Call(it.Token).Caller
		c.mu.Unlock()
		d.mu.Lock()
		had[in]++
		most = max(most, had[in])
		d.mu.Unlock()
		tells(c, it)
	})
	c := d.driver()
	tm := either(t, c, 1000)
	d.gives(1, true)
	d.never = true // nothing is waited for
	for range 3 {  // short ones: another lease would get many at a time
		var results []ids.Object
		for range 10 {
			results = append(results, submitText(t, c, tm, "x"))
		}
		for _, r := range results {
			get(t, c, r)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(had) != 30 || most != 1 {
		t.Errorf("%d leases had up to %d tasks, want 30 with one each", len(had), most)
	}
}

func TestNewTemplate_TooManyAlternatives_Refused(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	_, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1, Fallback: make([]*Template, wire.MaxAlternatives+1)})
	if err == nil {
		t.Error("no error")
	}
}

func TestGranted_ChoiceThatIsNone_GivenBack(t *testing.T) {
	d := startDaemon(t)
	d.worker(tells)
	c := d.driver()
	d.gives(7, false)
	id := submitText(t, c, either(t, c, 0), "x")
	d.eventually("the lease comes back", func() bool { return d.given == 1 })
	if f, err := c.Get(id, 10*time.Millisecond); f != nil || err != nil {
		t.Errorf("got %v, %v, want a task that waits", f, err)
	}
}
