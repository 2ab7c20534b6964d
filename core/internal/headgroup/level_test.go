package headgroup

import (
	"testing"

	"github.com/eagleray/eagleray/raftstate"
)

func TestLowestOf_TheOldestHeadCounts(t *testing.T) {
	at := func(level int, removed bool) Entry {
		e := entry(1, "a:1")
		e.Level, e.Removed = level, removed
		return e
	}
	for name, c := range map[string]struct {
		list []Entry
		want int
	}{
		"no head has said where it is":       {nil, raftstate.Level},
		"all of this build":                  {[]Entry{at(raftstate.Level, false), at(raftstate.Level, false)}, raftstate.Level},
		"a newer one":                        {[]Entry{at(raftstate.Level+1, false)}, raftstate.Level},
		"one is older":                       {[]Entry{at(raftstate.Level, false), at(1, false)}, 1},
		"one is too old to say so":           {[]Entry{at(raftstate.Level, false), at(0, false)}, 1},
		"an older one that is being removed": {[]Entry{at(raftstate.Level, false), at(1, true)}, raftstate.Level},
	} {
		if got := lowestOf(c.list, raftstate.Level); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	e := at(raftstate.Level, false)
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseEntry(b); err != nil || back.Level != raftstate.Level {
		t.Errorf("%s became %+v, %v", b, back, err)
	}
}
