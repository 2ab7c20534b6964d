package labels

import (
	"strings"
	"testing"
)

func TestMatches_EachCondition(t *testing.T) {
	node := map[string]string{"zone": "a", "ray.io/accelerator-type": "H200"}
	for _, c := range []struct {
		asked map[string]string
		want  bool
	}{
		{nil, true},
		{map[string]string{"zone": "a"}, true},
		{map[string]string{"zone": "b"}, false},
		{map[string]string{"zone": "!a"}, false},
		{map[string]string{"zone": "!b"}, true},
		{map[string]string{"zone": "in(a, b)"}, true},
		{map[string]string{"zone": "in(b,c)"}, false},
		{map[string]string{"zone": "!in(a,b)"}, false},
		{map[string]string{"zone": "!in(b,c)"}, true},
		{map[string]string{"tier": "a"}, false},
		{map[string]string{"tier": "!a"}, true},
		{map[string]string{"tier": "!in(a)"}, true},
		{map[string]string{"zone": "a", "tier": "x"}, false},
		{map[string]string{"zone": ""}, false},
		{map[string]string{"zone": "*"}, true},
		{map[string]string{"tier": "*"}, false},
		{map[string]string{"zone": "!*"}, false},
		{map[string]string{"tier": "!*"}, true},
		{map[string]string{"zone": "a", "ray.io/accelerator-type": "in(H100,H200)"}, true},
	} {
		s, err := Parse(c.asked)
		if err != nil {
			t.Errorf("%v: %v", c.asked, err)
			continue
		}
		if got := s.Matches(node); got != c.want || s.Empty() != (len(c.asked) == 0) {
			t.Errorf("%v matches: %v, want %v", c.asked, got, c.want)
		}
	}
	if s, _ := Parse(map[string]string{"b": "!x", "a": "in(y)"}); s.String() != "a=in(y), b=!x" {
		t.Errorf("the text is %q", s)
	}
}

func TestParse_WrongConditions_AreRefused(t *testing.T) {
	many := map[string]string{}
	for i := range MaxConditions + 1 {
		many["n"+strings.Repeat("x", i%60)+string(rune('a'+i%26))+string(rune('a'+i/26))] = "v"
	}
	for _, asked := range []map[string]string{
		{"": "a"}, {"z one": "a"}, {"zone": "!"}, {"zone": "**"}, {"zone": "in()"}, {"zone": "in(a,)"}, {"zone": "in(a"}, {"zone": "not a"}, {"zone": "!!a"},
		{strings.Repeat("n", 64): "a"}, {"zone": strings.Repeat("v", 64)}, {"zone": "in(" + strings.Repeat("a,", 4000) + "a)"}, many,
	} {
		if s, err := Parse(asked); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.80v is read as %+.100v, %v", asked, s, err)
		}
	}
}
