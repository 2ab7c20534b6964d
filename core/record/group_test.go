package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestGroup_Check_RefusesWhatNoNodesCouldHave(t *testing.T) {
	good := func() Group {
		return Group{ID: ids.Group{0xab}, Name: "g", Bundles: []Bundle{{Resources: Resources{"CPU": 1}}, {Resources: Resources{"CPU": 0, "x": 1}}}}
	}
	g := good()
	if err := g.Check(); err != nil {
		t.Errorf("a good one: %v", err)
	}
	g.Name, g.Bundles = strings.Repeat("n", MaxGroupName), make([]Bundle, MaxGroupBundles)
	for i := range g.Bundles {
		g.Bundles[i].Resources = Resources{"CPU": 1}
	}
	if err := g.Check(); err != nil {
		t.Errorf("a large one: %v", err)
	}
	g.Bundles = append(g.Bundles, g.Bundles[0])
	if err := g.Check(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "has 10001 bundles, it must have 1 to 10000") {
		t.Errorf("one bundle more: %v", err)
	}
	for says, change := range map[string]func(*Group){
		"has no id":                         func(g *Group) { g.ID = ids.Group{} },
		`placement group "g" ab0000`:        func(g *Group) { g.Bundles = nil },
		"has 1001 bytes":                    func(g *Group) { g.Name = strings.Repeat("n", MaxGroupName+1) },
		"bundle 1 of placement group \"g\"": func(g *Group) { g.Bundles[1].Resources = nil },
		"asks for nothing":                  func(g *Group) { g.Bundles[0].Resources = Resources{"CPU": 0} },
		"asks for -1 of x":                  func(g *Group) { g.Bundles[1].Resources["x"] = -1 },
	} {
		g := good()
		change(&g)
		if err := g.Check(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error with %q", err, says)
		}
	}
}

func TestGroup_NodesOfBundles(t *testing.T) {
	a, b := ids.Node{1}, ids.Node{2}
	g := Group{State: GroupRescheduling, Nodes: []ids.Node{a, {}, a}}
	for i, want := range []ids.Node{a, {}, a, {}} {
		if got := g.NodeOf(i); got != want {
			t.Errorf("bundle %d is on %s, want %s", i, got, want)
		}
	}
	if g.NodeOf(-1) != (ids.Node{}) || !g.On(a) || g.On(b) {
		t.Errorf("it is on %v", g.Nodes)
	}
	for state, want := range map[GroupState][2]bool{GroupPending: {true, true}, GroupCreated: {true, false}, GroupRescheduling: {true, true}, GroupRemoved: {false, false}} {
		g.State = state
		if g.Live() != want[0] || g.Waiting() != want[1] {
			t.Errorf("%s: it lives: %v, and waits: %v", state, g.Live(), g.Waiting())
		}
	}
}
