package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// at makes a call that lasts from begin to end.
func at(begin, end int64, c call) call {
	c.Begin, c.End, c.Key, c.Client = begin, end, "k", "a.1"
	return c
}

func TestJudge_Histories_FindsWhatIsWrong(t *testing.T) {
	one := call{Verb: put, Value: "one", Outcome: done, Version: 1}
	two := call{Verb: put, Value: "two", Outcome: done, Version: 2}
	reads := func(value string, version uint64) call {
		return call{Verb: get, Outcome: done, Read: value, Version: version}
	}
	for _, c := range []struct {
		name  string
		calls []call
		wrong string // "" for nothing
	}{
		{"reads what was written", []call{at(1, 2, one), at(3, 4, reads("one", 1)), at(5, 6, two), at(7, 8, reads("two", 2))}, ""},
		{"an acknowledged write is lost", []call{at(1, 2, one), at(3, 4, two), at(5, 6, reads("one", 1))}, "no order"},
		{"an acknowledged key is lost", []call{at(1, 2, one), at(5, 6, call{Verb: get, Outcome: none})}, "no order"},
		{"a write that may have been made is not", []call{at(1, 2, one), at(3, 4, call{Verb: put, Value: "two", Outcome: unknown}), at(5, 6, reads("one", 1))}, ""},
		{"a write that may have been made is, late", []call{at(1, 2, one), at(3, 4, call{Verb: put, Value: "x", Outcome: unknown}), at(5, 6, reads("one", 1)), at(7, 8, reads("x", 5))}, ""},
		{"a write that may have been made is, twice", []call{
			at(1, 2, one), at(3, 4, call{Verb: put, Value: "x", Outcome: unknown}), at(5, 6, reads("x", 3)), at(7, 8, call{Verb: put, Value: "y", Outcome: done, Version: 7}), at(9, 10, reads("x", 8)),
		}, "no order"},
		{"a write that was not made is", []call{at(1, 2, one), at(3, 4, call{Verb: put, Value: "x", Outcome: undone}), at(5, 6, reads("x", 2))}, "no order"},
		{"a swap succeeds with another version", []call{at(1, 2, one), at(3, 4, two), at(5, 6, call{Verb: swap, Value: "x", Expected: 1, Outcome: done, Version: 3})}, "no order"},
		{"a swap is refused with the right version", []call{at(1, 2, one), at(3, 4, call{Verb: swap, Value: "x", Expected: 1, Outcome: conflict, Version: 1})}, "no order"},
		{"swaps and deletions", []call{
			at(1, 2, call{Verb: swap, Value: "x", Outcome: done, Version: 1}), at(3, 4, call{Verb: drop, Expected: 1, Outcome: done}),
			at(5, 6, call{Verb: drop, Expected: 1, Outcome: conflict}), at(7, 8, call{Verb: swap, Value: "y", Outcome: unknown}), at(9, 10, reads("y", 4)),
			at(11, 12, call{Verb: drop, Expected: 4, Outcome: unknown}), at(13, 14, call{Verb: get, Outcome: none}), at(15, 16, call{Verb: del, Outcome: done}),
		}, ""},
		{"a version comes back", []call{at(1, 2, two), at(3, 4, call{Verb: del, Outcome: done}), at(5, 6, one)}, "versions do not grow"},
		{"a version is given twice", []call{at(1, 5, one), at(2, 6, one)}, "given twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge(c.calls)
			if said := strings.Join(v.Wrong, "\n"); c.wrong == "" && said != "" || !strings.Contains(said, c.wrong) {
				t.Errorf("judged %q, want %q", said, c.wrong)
			}
			if v.Undecided != 0 {
				t.Errorf("%d keys are undecided", v.Undecided)
			}
		})
	}
}

func TestGaps_Blows_HaveTheLongestTimeWithoutAWrite(t *testing.T) {
	const ms = 1_000_000
	var all []call
	for _, end := range []int64{0, 10, 20, 30, 330, 340, 350, 950, 960} {
		all = append(all, call{Client: "a.1", Verb: put, Outcome: done, End: end * ms})
	}
	all = append(all, call{Client: "b.1", Verb: put, Outcome: done, End: 25 * ms}, call{Client: "b.1", Verb: put, Outcome: done, End: 345 * ms},
		call{Client: "b.1", Verb: put, Outcome: conflict, End: 100 * ms}, call{Client: "b.1", Verb: get, Outcome: done, End: 100 * ms})
	r := gaps(all, []blow{{"kill", 31 * ms, 0}, {"kill", 400 * ms, 0}})
	want := &report{Quiet: 10, Kinds: map[string]figure{"kill": {2, 300, 600, 600, 320, 600}}, Blows: []gap{{"kill", 31 * ms, 300, 320}, {"kill", 400 * ms, 600, 600}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestHistory_NotedCalls_AreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	h, err := newHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	c := at(1, 2, call{Verb: swap, Value: "x", Expected: 3, Outcome: conflict, Version: 4})
	if err := h.note(&c); err != nil {
		t.Fatal(err)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	list, err := readHistory(path)
	if err != nil || len(list) != 1 || list[0] != c {
		t.Errorf("read %+v, %v", list, err)
	}
	if err := judgeFiles("", []string{path}, &strings.Builder{}); err == nil {
		t.Error("a version that nobody has made is no conflict with what is there, and was taken for one")
	}
}
