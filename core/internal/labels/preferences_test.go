package labels

import (
	"strings"
	"testing"
)

func TestRank_FirstAlternativeWhoseConditionsHold(t *testing.T) {
	for _, c := range []struct {
		text string
		node map[string]string
		rank int // -1: none allows the node
	}{
		{`[[]]`, nil, 0},
		{`[[{}]]`, nil, 0},
		{`[[{"zone":"a"}],[{"zone":"b"}],[]]`, map[string]string{"zone": "a"}, 0},
		{`[[{"zone":"a"}],[{"zone":"b"}],[]]`, map[string]string{"zone": "b"}, 1},
		{`[[{"zone":"a"}],[{"zone":"b"}],[]]`, map[string]string{"zone": "c"}, 2},
		{`[[{"zone":"a"}],[{"zone":"b"}]]`, map[string]string{"zone": "c"}, -1},
		{`[[{"zone":"in(a,b)"},{"zone":"!a"}]]`, map[string]string{"zone": "a"}, -1},
		{`[[{"zone":"in(a,b)"},{"zone":"!a"}]]`, map[string]string{"zone": "b"}, 0},
		{`[[{"gpu":"*"}]]`, map[string]string{"gpu": ""}, 0},
		{`[[{"gpu":"*"}]]`, nil, -1},
		{`[[{"gpu":"!*"}]]`, map[string]string{"gpu": "x"}, -1},
		{`[[{"gpu":"!*"}]]`, nil, 0},
		{`[[{"gpu":""}]]`, map[string]string{"gpu": ""}, 0},
		{`[[{"gpu":""}]]`, map[string]string{"gpu": "x"}, -1},
		{`[[{"gpu":""}]]`, nil, -1},
	} {
		p, err := ParsePreferences(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if rank, ok := p.Rank(c.node); rank != c.rank || ok != (c.rank >= 0) {
			t.Errorf("%s ranks %v as %d, %v; want %d", c.text, c.node, rank, ok, c.rank)
		}
	}
	if rank, ok := (Preferences{}).Rank(nil); rank != 0 || !ok {
		t.Errorf("no preferences rank a node as %d, %v", rank, ok)
	}
	p, _ := ParsePreferences(`[[{"b":"!x","a":"y"},{"c":"*"}],[{"b":"z"}],[{"b":"z"}]]`)
	if got, want := p.String(), "a=y, b=!x, c=* or b=z"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestParsePreferences_WrongTexts_AreRefused(t *testing.T) {
	for _, text := range []string{
		"", "[]", "{}", "zone=a", `[{"zone":"a"}]`, `[[{"zone":1}]]`, `[[{"z one":"a"}]]`, `[[{"zone":"in()"}]]`, `[[{"zone":"!"}]]`, `[[{"zone":"!!*"}]]`, `[[]] [[]]`,
		"[" + strings.Repeat("[],", MaxAlternatives) + "[]]", `[[{"zone":"in(` + strings.Repeat("a,", MaxText/2) + `a)"}]]`,
	} {
		if p, err := ParsePreferences(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.60q is read as %+.100v, %v", text, p, err)
		}
	}
}
