package strategy

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestParse_TextsOfStrategies_ComeBack(t *testing.T) {
	node, group := ids.NewNode(), ids.NewGroup(ids.JobOf(7))
	for _, s := range []Strategy{
		{}, {Kind: Spread}, {Kind: Affinity, Node: node}, {Kind: Affinity, Node: node, Soft: true}, {Kind: Affinity, Node: node, Soft: true, Busy: Spills}, {Kind: Affinity, Node: node, Busy: Fails}, {Kind: Group, Group: group}, {Kind: Group, Group: group, Bundle: AnyBundle},
		{Kind: Group, Group: group, Bundle: 12, Capture: true}, {Kind: Group, Group: group, Bundle: maxBundle},
		{Labels: `[[{"zone":"a"}]]`}, {Kind: Spread, Labels: `[[{"zone":"in(a,b)"},{"zone":"!a"}],[]]`}, {Kind: Affinity, Node: node, Soft: true, Labels: `[[{"x":"*"}]]`},
		{Kind: Group, Group: group, Bundle: 3, Capture: true, Labels: `[[{"zone":"a"}]]`},
	} {
		if id, in := GroupOf(s.Text()); in != (s.Kind == Group) || id != s.Group {
			t.Errorf("%s is in group %s: %v", s, id, in)
		}
		if got, err := Parse(s.String()); err != nil || got != s {
			t.Errorf("%s is read as %+v, %v", s, got, err)
		}
		if got, err := Parse(s.Text()); err != nil || got != s || s == (Strategy{}) && s.Text() != "" {
			t.Errorf("%q is read as %+v, %v", s.Text(), got, err)
		}
	}
	if got, err := Parse(""); err != nil || got != (Strategy{}) {
		t.Errorf("no text is read as %+v, %v", got, err)
	}
}

func TestParse_WrongTexts_AreRefused(t *testing.T) {
	hex, group := ids.NewNode().String(), "group:"+ids.NewGroup(ids.JobOf(7)).String()
	for text, says := range map[string]string{
		"PACK": "not known", "spread": "not known", "node:": "names no node", "node:" + hex[2:]: "names no node", "node:" + hex + ":hard": "names no node", "node:" + hex + ":spill": "names no node", "node:" + hex + ":soft:fail": "names no node", "node:" + hex + ":fail:soft": "names no node",
		"node:" + hex + "00": "names no node", "node:soft": "names no node", "group:": "names no placement group", group[:len(group)-2] + ":0": "names no placement group", group: "names no bundle", group + ":": "names no bundle",
		group + ":-2": "names no bundle", group + ":x": "names no bundle", group + ":1:2": "names no bundle", group + ":1:captured": "names no bundle", group + ":1048577": "names no bundle", group + ":0" + strings.Repeat("0", 1000) + "x": "names no bundle",
		strings.Repeat("x", 1000): "not known", "DEFAULT labels:": "cannot be read", "DEFAULT labels:[]": "0 alternatives", `PACK labels:[[{"zone":"a"}]]`: "not known", `SPREAD labels:[[{"z one":"a"}]]`: "z one",
		`DEFAULT labels:[[{"zone":"a"}]] labels:[[{"zone":"a"}]]`: "cannot be read", "SPREAD labels:" + strings.Repeat(" ", 20000): "at most",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.80q: %v, want an error with %q", text, err, says)
		}
		if id, in := GroupOf(text); in {
			t.Errorf("%.80q is in group %s", text, id)
		}
	}
}

func TestWishes_RankNodesByTheirLabels(t *testing.T) {
	s, err := Parse(`SPREAD labels:[[{"zone":"a"}],[{"zone":"b"}]]`)
	if err != nil {
		t.Fatal(err)
	}
	for zone, want := range map[string]int{"a": 0, "b": 1, "c": -1} {
		if rank, _ := s.Wishes().Rank(map[string]string{"zone": zone}); rank != want {
			t.Errorf("zone %s has rank %d, want %d", zone, rank, want)
		}
	}
	if _, ok := (Strategy{Kind: Spread}).Wishes().Rank(nil); !ok {
		t.Error("a strategy without labels allows no node")
	}
}
