package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// later has the session look at what waits, as if it had waited for long, and returns what the user is told.
func later(t *testing.T, c *Client) (told []string) {
	t.Helper()
	c.mu.Lock()
	c.submit.Looks += waiting.Ticks
	for _, k := range c.submit.Classes {
		k.Since -= waiting.Ticks
	}
	reports := c.submit.LookAtWaiting()
	c.mu.Unlock()
	c.report(reports)
	for n := c.NextNote(0); n != nil; n = c.NextNote(0) {
		told = append(told, n.Warning)
	}
	slices.Sort(told)
	return told
}

// Of what waits for long the user is told how many there are and why, as the daemon says, once a minute.
func TestReportPending_SaysHowManyAndWhy_OnceAMinute(t *testing.T) {
	d := startDaemon(t)
	answer := func(m *wire.Message) error { return m.Reply("there is no GPU") }
	var asked []wire.ClassTrouble
	d.answers(wire.TWhoHolds, func(m *wire.Message) bool {
		var q wire.ClassTrouble
		_ = m.Decode(&q)
		asked = append(asked, q)
		_ = answer(m)
		return true
	})
	c := d.driver()
	waits := func(name string, n int) {
		tm := template(t, c, name)
		for range n {
			submitText(t, c, tm, "x")
		}
	}
	waits("f", 1)
	expectTold := func(what string, want ...string) {
		t.Helper()
		if got := later(t, c); !slices.Equal(got, want) {
			t.Errorf("%s: the user is told %q, want %q", what, got, want)
		}
	}
	expectTold("one task", "task f has waited for more than 10s: there is no GPU")
	class := onlyClass(t, c).ID
	d.mu.Lock()
	if len(asked) != 1 || asked[0].ClassID != class || asked[0].ActorID != nil {
		t.Errorf("the daemon is asked %+v", asked)
	}
	d.mu.Unlock()
	expectTold("the same again")
	waits("g", 2)
	expectTold("others", "2 tasks g have waited for more than 10s: there is no GPU")
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Fail(fault.New(fault.Internal, "nobody knows")) }
	d.mu.Unlock()
	waits("h", 1)
	expectTold("the daemon cannot say why", "task h has waited for more than 10s: nobody knows")
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Reply("") }
	d.mu.Unlock()
	waits("i", 1)
	expectTold("it has begun meanwhile")
	c.mu.Lock()
	for key, at := range c.submit.Reported {
		c.submit.Reported[key] = at.Add(-waiting.Again)
	}
	for _, k := range c.submit.Classes {
		if k.Name != "f" {
			k.Bad = fault.New(fault.Internal, "it can never run") // its tasks are told so
		}
	}
	c.mu.Unlock()
	d.mu.Lock()
	answer = func(m *wire.Message) error { return m.Reply("there is no GPU") }
	d.mu.Unlock()
	expectTold("a minute later", "task f has waited for more than 10s: there is no GPU")
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.submit.Armed {
		t.Error("nobody looks again, though tasks wait")
	}
}
