package waiting

import (
	"testing"
	"time"
)

func TestReport_Subject_CountsActorsAndTasks(t *testing.T) {
	for want, r := range map[string]Report{
		"actor A has":       {Name: "A", Actors: 1},
		"2 actors A have":   {Name: "A", Actors: 2},
		"task f has":        {Name: "f", Tasks: 1},
		"2 tasks f have":    {Name: "f", Tasks: 2},
		"1000 tasks f have": {Name: "f", Tasks: 1000},
	} {
		if got := r.Subject() + " " + r.have(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Tasks of one name are reported together, those that wait for a retry and those that wait for an argument apart; the
// reason is that of the first.
func TestList_SameName_OneReport(t *testing.T) {
	var l List
	asked := 0
	why := func(text string) func() string {
		return func() string { asked++; return text }
	}
	l.Class(3, "f", 7)
	l.Actor([]byte("one"), "A")
	l.Actor([]byte("two"), "A")
	l.Retry("f", why("it crashed"))
	l.Argument("f", why("argument x is not ready"))
	l.Retry("f", why("it crashed twice"))
	if len(l.All) != 4 || asked != 2 {
		t.Fatalf("%d reports, %d reasons", len(l.All), asked)
	}
	class, actors, retries, arguments := l.All[0], l.All[1], l.All[2], l.All[3]
	if class.Tasks != 7 || class.Ask.ClassID != 3 || actors.Actors != 2 || string(actors.Ask.ActorID) != "one" || class.Why+actors.Why != "" {
		t.Errorf("the daemon is asked about %+v and %+v", class, actors)
	}
	if retries.Tasks != 2 || retries.Why != "it crashed" || arguments.Tasks != 1 || arguments.Why != "argument x is not ready" || retries.Ask != nil {
		t.Errorf("the user is told %+v and %+v", retries, arguments)
	}
	if got, want := retries.Warning(retries.Why), "2 tasks f have waited for more than 10s: it crashed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each kind of thing is reported once a minute, by name.
func TestWatch_Report_OnceAMinute(t *testing.T) {
	var w Watch
	now := time.Now()
	told := func(at time.Time, fill func(*List)) (names string) {
		var l List
		fill(&l)
		for _, r := range w.Report(&l, at) {
			names += r.kind + r.Name + "; "
		}
		return names
	}
	all := func(l *List) {
		l.Class(1, "g", 1)
		l.Class(2, "g", 1) // another class of the same name
		l.Actor(nil, "A")
		l.Retry("f", func() string { return "" })
		l.Argument("f", func() string { return "" })
	}
	if got, want := told(now, all), "actor A; task f; class g; "; got != want {
		t.Errorf("at first %q, want %q", got, want)
	}
	if got := told(now.Add(Again-1), all); got != "" {
		t.Errorf("within a minute again %q", got)
	}
	if got, want := told(now.Add(Again-1), func(l *List) { l.Actor(nil, "g") }), "actor g; "; got != want {
		t.Errorf("an actor with the name of a function: %q, want %q", got, want)
	}
	if got, want := told(now.Add(Again), all), "actor A; task f; class g; "; got != want {
		t.Errorf("after a minute %q, want %q", got, want)
	}
}

// Nothing has waited for long before as many looks as After has, counted from the look before it began; looks wrap.
func TestWatch_Look_CountsFromTheFirst(t *testing.T) {
	w := Watch{Looks: ^uint32(0) - 3}
	if !w.Arm() || w.Arm() || !w.Armed {
		t.Error("it is armed twice, or never")
	}
	for i := range Ticks {
		if long := w.Look(); long != (i == Ticks-1) {
			t.Errorf("look %d: %v", i, long)
		}
	}
	w.Arm() // it is armed already: the first beginning counts
	if !w.Look() || w.Long(w.Looks-Ticks+1) || !w.Long(w.Looks-Ticks) {
		t.Error("the time of the wait is another one")
	}
}
