package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

func TestPlacementGroup_WaitFindRemove(t *testing.T) {
	ctx, s := join(t, opts)
	g := must[*core.PlacementGroup](t)(s.NewPlacementGroup(ctx, []core.Bundle{{"CPU": 1, "slot": 0.5}}, core.GroupOptions{Name: "shelf"}))
	if err := g.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	found := must[*core.PlacementGroup](t)(s.GetPlacementGroup(ctx, "shelf", ""))
	if found.ID() != g.ID() {
		t.Errorf("found %s, want %s", found.ID(), g.ID())
	}
	f := must[*core.Function](t)(s.Function("builtins:len", core.Call{Strategy: core.InGroup(found, core.AnyBundle, false)}))
	if n, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Submit[int](ctx, f, "ab"))); n != 2 || err != nil {
		t.Error(n, err)
	}
	a := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Strategy: core.InGroup(g, 0, true)}, 1))
	if n, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", 2))); n != 3 || err != nil {
		t.Error(n, err)
	}
	if err := g.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(ctx); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("wait for a removed group: %v", err)
	}
	if _, err := s.GetPlacementGroup(ctx, "shelf", ""); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("find a removed group: %v", err)
	}
}

func TestPlacementGroup_CannotBeHad(t *testing.T) {
	ctx, s := join(t, opts)
	g := must[*core.PlacementGroup](t)(s.NewPlacementGroup(ctx, []core.Bundle{{"slot": 1}, {"slot": 1}, {"slot": 1}}, core.GroupOptions{}))
	if err := g.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	waits := must[*core.PlacementGroup](t)(s.NewPlacementGroup(ctx, []core.Bundle{{"slot": 1}}, core.GroupOptions{}))
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := waits.Wait(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for what others hold: %v", err)
	}
	for _, one := range []*core.PlacementGroup{g, waits} {
		if err := one.Remove(ctx); err != nil {
			t.Error(err)
		}
	}
	g, err := s.NewPlacementGroup(ctx, []core.Bundle{{"slot": 100}}, core.GroupOptions{})
	if err == nil {
		err = g.Wait(ctx)
	}
	if !errors.Is(err, core.ErrUnschedulable) {
		t.Errorf("more than there is: %v", err)
	}
}

func TestStrategy_Wrong_IsNamed(t *testing.T) {
	ctx, s := join(t, opts)
	for what, x := range map[string]struct {
		strategy core.Strategy
		text     string
	}{
		"a node":   {core.OnNode("12", false), "56 hexadecimal digits"},
		"no group": {core.InGroup(nil, 0, false), "is nil"},
	} {
		if _, err := s.Function("builtins:len", core.Call{Strategy: x.strategy}); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", what, err, x.text)
		}
	}
	for what, bundles := range map[string][]core.Bundle{"no bundle": nil, "an empty one": {{"CPU": 1}, {}}, "a negative amount": {{"CPU": -1}}} {
		if _, err := s.NewPlacementGroup(ctx, bundles, core.GroupOptions{}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.NewPlacementGroup(ctx, []core.Bundle{{"CPU": 1}}, core.GroupOptions{Strategy: "NEAR"}); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "NEAR") {
		t.Errorf("a strategy that there is not: %v", err)
	}
	g := must[*core.PlacementGroup](t)(s.NewPlacementGroup(ctx, []core.Bundle{{"CPU": 1}}, core.GroupOptions{}))
	if _, err := s.Function("builtins:len", core.Call{Strategy: core.InGroup(g, 1, false)}); err == nil || !strings.Contains(err.Error(), "no bundle 1") {
		t.Errorf("a bundle that there is not: %v", err)
	}
	if err := g.Remove(ctx); err != nil {
		t.Error(err)
	}
}

func TestStrategy_OnLabels_ChoosesByThem(t *testing.T) {
	ctx, s := join(t, cluster(t, `--labels=zone=a`))
	for what, x := range map[string]struct {
		strategy core.Strategy
		want     error
	}{
		"a label that a node has":      {core.OnLabels(map[string]string{"zone": "in(a,b)"}), nil},
		"a label that no node has":     {core.OnLabels(map[string]string{"zone": "c"}), core.ErrUnschedulable},
		"the second alternative":       {core.OnLabels(map[string]string{"zone": "c"}, map[string]string{"zone": "!c"}), nil},
		"an empty selector":            {core.OnLabels(nil), core.ErrInvalid},
		"a selector that is malformed": {core.OnLabels(map[string]string{"zone": "in("}), core.ErrInvalid},
	} {
		f, err := s.Function("builtins:len", core.Call{Strategy: x.strategy})
		if err == nil {
			var r *core.Ref[int]
			if r, err = core.Submit[int](ctx, f, "ab"); err == nil {
				_, err = core.Get(ctx, r)
			}
		}
		if !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", what, err, x.want)
		}
	}
}
