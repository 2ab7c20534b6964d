package actors

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A successor asks about an actor what its predecessor was about to ask.
func TestResume_EachStateOfTheCreation(t *testing.T) {
	for what, c := range map[string]struct {
		x    snapshot.Actor
		want []string
		over bool
	}{
		"its constructor has ended":            {snapshot.Actor{}, nil, false},
		"it was not registered":                {snapshot.Actor{Creation: &snapshot.Creation{Request: wire.ActorCreate{ClassName: "A"}}}, []string{"register A"}, false},
		"it is registered":                     {snapshot.Actor{Creation: &snapshot.Creation{Announce: true}}, []string{"where after 3"}, false},
		"its constructor may run again":        {snapshot.Actor{Creation: &snapshot.Creation{Announce: true, Again: true}}, []string{"tell of its death"}, false},
		"its socket broke before it could run": {snapshot.Actor{Broken: true, Number: 8, Creation: &snapshot.Creation{Announce: true}}, []string{fmtLost(3, 8)}, false},
		"it was killed meanwhile": {snapshot.Actor{Dead: &wire.FaultBody{Code: string(fault.ActorDied), Message: "killed"}, Creation: &snapshot.Creation{Announce: true}},
			[]string{"release its arguments", "its creation has ended"}, true},
	} {
		p := newProcess(t)
		a := p.unheld()
		c.x.Incarnation = 3
		token := p.objects.New(0, 1)
		if err := a.Restore(&c.x, token); err != nil {
			t.Fatal(err)
		}
		if c.x.Creation != nil {
			a.RestoreCreation(c.x.Creation, &taken{p: p})
		}
		if over := !a.Resume(); over != c.over {
			t.Errorf("%s: there is nothing to go on with: %v", what, over)
		}
		p.wants(what, c.want...)
		if token.Source() != a {
			t.Errorf("%s: its token comes from %v", what, token.Source())
		}
	}
}

// What is written down comes back, and is written down as it was.
func TestSnapshot_ThereAndBack(t *testing.T) {
	p := newProcess(t)
	a := p.made(&Spec{ActorCreate: wire.ActorCreate{MaxRestarts: 2}}, &taken{holds: true})
	a.RegisterWhenReady()
	p.answer(wire.ActorCreated{})
	a.lives(6)
	a.connects()
	a.Lost(Incarnation{Conn: 9})
	x, known := a.Snapshot()
	if !known || x.Incarnation != 6 || !x.Broken || x.Number != 9 || x.Name != "A" || x.Creation == nil || !x.Creation.Again || !x.Creation.Announce || x.Creation.Request.MaxRestarts != 2 || !slices.Equal(x.Token, a.token.ID[:]) {
		t.Fatalf("%v: %+v", known, x)
	}
	next := newProcess(t)
	b := next.unheld()
	if err := b.Restore(&x, next.objects.New(0, 1)); err != nil {
		t.Fatal(err)
	}
	b.RestoreCreation(x.Creation, &taken{p: next})
	if y, _ := b.Snapshot(); y.Incarnation != 6 || y.Number != 9 || !y.Broken || !y.Creation.Again || y.Creation.Request.MaxRestarts != 2 {
		t.Errorf("%+v", y)
	}
	c := p.actor()
	if _, known := c.Snapshot(); known {
		t.Error("the handle of a program outlives the program")
	}
	c.open = 1
	if _, known := c.Snapshot(); !known {
		t.Error("an actor with an open call is left out")
	}
	if err := c.Restore(&snapshot.Actor{Raised: true}, nil); err == nil {
		t.Error("an exception that is nowhere is taken for one that is kept")
	}
}
