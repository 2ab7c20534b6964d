package headgroup

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
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

// The level in use rises when the last head that knows less is replaced or removed, and never falls.
func TestRaise_LevelOfAllHeads_IsInUseAndNeverFalls(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	state, err := raftstate.Open(raftstate.Options{ID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	r, err := state.Lead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{g: &Group{o: Options{Log: slog.New(slog.DiscardHandler)}, state: state}, r: r}
	note := func(number uint32, level int, removed bool) {
		t.Helper()
		e := entry(number, "a:1")
		e.ID, e.Level, e.Removed = string(rune('0'+number)), level, removed
		b, err := e.Encode()
		if err == nil {
			err = state.PutSetting(ctx, SettingOf(e.ID), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want int, when string) {
		t.Helper()
		s.raise(ctx)
		if got := state.Level(); got != want {
			t.Errorf("%s: level %d is in use, want %d", when, got, want)
		}
	}
	top := raftstate.Level
	expect(0, "no head has said what it knows")
	note(1, top, false)
	note(2, 0, false)
	note(3, top, false)
	expect(1, "one head is too old to say so")
	note(2, top-1, false)
	expect(top-1, "one head is older")
	note(2, top-1, true)
	expect(top, "the older one is being removed")
	note(2, 1, false)
	expect(top, "an older one says that it is back")
	note(2, top+1, false)
	expect(top, "one is newer than the one that leads")
}

// A head of an older release joins as long as nothing is in use that it does not know.
func TestCheckLevel_HeadKnowsLessThanIsInUse_IsRefused(t *testing.T) {
	for _, c := range []struct {
		knows, used int
		fits        bool
	}{{0, 0, true}, {0, 1, true}, {2, 2, true}, {3, 2, true}, {0, 2, false}, {2, 3, false}} {
		err := checkLevel(linkmsg.HeadAt{Level: c.knows}, c.used)
		if c.fits != (err == nil) || err != nil && (fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), "Install the release of the other heads")) {
			t.Errorf("a head that knows level %d, and level %d is in use: %v", c.knows, c.used, err)
		}
	}
}
