package record

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseDemands_Table(t *testing.T) {
	got, err := ParseDemands([]byte(`[{"count":3,"resources":{"CPU":10000}},{"count":1,"resources":{"GPU":5000,"CPU":0},"labels":{"zone":"in(a,b)"}}]`))
	if err != nil || len(got) != 2 || got[0].Count != 3 || got[0].Resources["CPU"] != 10000 || got[1].Labels["zone"] != "in(a,b)" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := ParseDemands([]byte(`[]`)); err != nil || len(got) != 0 {
		t.Errorf("nothing is asked for: %+v, %v", got, err)
	}
	many := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	names := make([]string, maxDemandNames+1)
	for i := range names {
		names[i] = fmt.Sprintf(`"r%d":1`, i)
	}
	for text, says := range map[string]string{
		``:                                       "EOF",
		`{"count":1}`:                            "cannot unmarshal",
		`[{"count":1,"other":2}]`:                "unknown field",
		`[{"count":0,"resources":{"CPU":1}}]`:    "wanted 0 times",
		`[{"count":-1,"resources":{"CPU":1}}]`:   "wanted -1 times",
		`[{"count":1073741825,"resources":{}}]`:  "at most",
		`[{"count":1,"resources":{"CPU":-1}}]`:   "an amount of 0 or more",
		`[{"count":1,"resources":{"":1}}]`:       "a name of 1 to",
		`[{"count":1,"labels":{"":"x"}}]`:        "its name must have",
		many(MaxDemands+1, `{"count":1}`):        "1025 different bundles, at most 1024",
		many(4000, `{"count":1,"resources":{}}`): "ask for fewer different bundles",
		`[{"count":1,"resources":{` + strings.Join(names, ",") + `}}]`: "65 resources and labels, at most 64",
	} {
		_, err := ParseDemands([]byte(text))
		if says == "at most" {
			says = "must be 1 to 1073741824"
		}
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: got %v, want %q", text, err, says)
		}
	}
}
