package submit

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/waiting"
)

// look is one look of the timer, and what it would print.
func look(c *quiet) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Looks++
	out := map[string]int{}
	reports, _ := c.StillWaiting(time.Now())
	for _, r := range reports {
		out[r.Name] = r.Tasks + r.Actors
	}
	return out
}

func TestStillWaiting_BeganLater_NotReportedWithWhatWaitsForLong(t *testing.T) {
	c := newQuiet(t)
	never := submitText(t, c, template(t, c, "never"), "")
	late, early := template(t, c, "late"), template(t, c, "early")
	tm := &Template{Kind: frame.KindMethod, Name: "m", Returns: 1}
	if _, err := c.NewTemplate(tm); err != nil {
		t.Fatal(err)
	}
	calls := func(id ids.Actor) {
		c.mu.Lock()
		defer c.mu.Unlock()
		k := c.NewCall(tm, 0, 0)
		c.MakeReturns(k, 0)
		c.SubmitCall(c.Actors[id], k)
	}
	actorNamed := func(name string) (id ids.Actor) {
		id = ids.NewActor(c.Job)
		c.mu.Lock()
		setActor(c.addActor(id, name, 0), "asking", true) // its place is never told
		c.mu.Unlock()
		return id
	}
	submitText(t, c, early, "", never)
	calls(actorNamed("Early"))
	restarted := actorNamed("Restarted")
	calls(restarted)
	for range waiting.Ticks - 1 {
		if got := look(c); len(got) > 0 {
			t.Fatal("reported before its time:", got)
		}
	}
	submitText(t, c, late, "", never)
	submitText(t, c, early, "", never) // of the same name as one that waits
	calls(actorNamed("Late"))
	c.mu.Lock()
	a := c.Actors[restarted]
	a.Channel, a.stuck = &Channel{}, false // it ran meanwhile, and has just been lost
	c.actorLost(a, a.Channel, nil)
	c.mu.Unlock()
	if got := look(c); got["early"] != 1 || got["Early"] != 1 || got["never"] != 1 || len(got) != 3 {
		t.Fatal("one early task, one early actor and the task that is never sent have waited for long, told was", got)
	}
	for range waiting.Ticks - 2 {
		if got := look(c); len(got) > 0 {
			t.Fatal("reported again, or before its time:", got)
		}
	}
	if got := look(c); got["late"] != 1 || got["Late"] != 1 || got["Restarted"] != 1 || len(got) != 3 {
		t.Fatal("the later ones have waited for long, told was", got)
	}
}
