package strategy

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestParse_TextsOfStrategies_ComeBack(t *testing.T) {
	node, group := ids.NewNode(), ids.NewGroup(ids.JobOf(7))
	for _, s := range []Strategy{
		{}, {Kind: Spread}, {Kind: Affinity, Node: node}, {Kind: Affinity, Node: node, Soft: true}, {Kind: Group, Group: group}, {Kind: Group, Group: group, Bundle: AnyBundle},
		{Kind: Group, Group: group, Bundle: 12, Capture: true}, {Kind: Group, Group: group, Bundle: maxBundle},
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
		"PACK": "not known", "spread": "not known", "node:": "names no node", "node:" + hex[2:]: "names no node", "node:" + hex + ":hard": "names no node",
		"node:" + hex + "00": "names no node", "node:soft": "names no node", "group:": "names no placement group", group[:len(group)-2] + ":0": "names no placement group", group: "names no bundle", group + ":": "names no bundle",
		group + ":-2": "names no bundle", group + ":x": "names no bundle", group + ":1:2": "names no bundle", group + ":1:captured": "names no bundle", group + ":1048577": "names no bundle", group + ":0" + strings.Repeat("0", 1000) + "x": "names no bundle",
		strings.Repeat("x", 1000): "not known",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.80q: %v, want an error with %q", text, err, says)
		}
		if id, in := GroupOf(text); in {
			t.Errorf("%.80q is in group %s", text, id)
		}
	}
}
