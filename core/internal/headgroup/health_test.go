package headgroup

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// leadsThree starts three heads with settings, and returns what the one that leads has seen: nothing yet.
func leadsThree(t *testing.T) (s *seen, others []linkmsg.HeadAt) {
	t.Helper()
	seats := threeSeats(t)
	r := reign(t, seats, "")
	g := seats[r.Member().Self()].group
	list, _ := g.o.Book.List()
	for _, at := range list {
		e := Entry{HeadAt: at}
		b, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.PutSetting(t.Context(), SettingOf(at.ID), b); err != nil {
			t.Fatal(err)
		}
		if at.ID != g.o.ID {
			others = append(others, at)
		}
	}
	s = newSeen(g, r)
	g.setSeen(s)
	return s, others
}

// A replacement of the authority waits for heads that answer and lack the keys, and for silent ones for a while.
func TestKeysWait_HeadsThatLackTheKeys_AreNamedWhileTheyMayAnswer(t *testing.T) {
	s, others := leadsThree(t)
	check := func(what string, want ...uint32) {
		t.Helper()
		list, known := s.g.KeysWait(5)
		if !known || !slices.Equal(list, want) {
			t.Errorf("%s: %v, known %v, must be %v", what, list, known, want)
		}
	}
	check("nobody has answered", others[0].Number, others[1].Number)
	s.end(others[0].ID, &linkmsg.Member{Keys: 5}, 0)
	s.end(others[1].ID, &linkmsg.Member{Keys: 4}, 0)
	check("one lacks them", others[1].Number)
	s.heard[others[1].ID] = time.Now().Add(-keysPatience)
	check("it has been silent for long")
	s.g.setSeen(nil)
	if list, known := s.g.KeysWait(5); known || list != nil {
		t.Errorf("a head that does not lead: %v, %v", list, known)
	}
}

// The nodes are told when something has changed, and a head that begins to lead does not call the others silent before it has asked them.
func TestHealth_Changes_AreToldOnce(t *testing.T) {
	s, others := leadsThree(t)
	if s.healthChanged() {
		t.Errorf("it tells %+v before it has asked", s.told())
	}
	stored, _ := s.r.Indexes()
	for _, at := range others {
		s.end(at.ID, &linkmsg.Member{Stored: stored}, 0)
	}
	if !s.healthChanged() || s.healthChanged() {
		t.Error("what is new is not told once")
	}
	health := func() (texts []string) {
		for _, h := range s.told() {
			texts = append(texts, h.Why)
		}
		return texts
	}
	if got := health(); !slices.Equal(got, []string{"", "", ""}) {
		t.Fatalf("all are well, and it tells %q", got)
	}
	if h := s.g.Heads(); h.Health != nil {
		t.Errorf("it tells %+v before it serves", h.Health)
	}
	s.g.Serves(s.r.Term())
	if h := s.g.Heads(); len(h.Health) != 3 || !h.Leads {
		t.Errorf("it tells %+v", h)
	}
	s.begun = time.Now().Add(-time.Hour)
	s.heard[others[0].ID] = time.Now().Add(-answersNow)
	if !s.healthChanged() || slices.Index(health(), "it does not answer") != slices.IndexFunc(s.told(), func(h linkmsg.HeadHealth) bool { return h.Number == others[0].Number }) {
		t.Errorf("head %d is silent, and it tells %+v", others[0].Number, s.told())
	}
}

func TestHas_HeadsOfTheCluster_ByNameAndNumber(t *testing.T) {
	s, others := leadsThree(t)
	at := others[0]
	has := func(at linkmsg.HeadAt) bool {
		t.Helper()
		has, err := s.g.Has(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if !has(at) || has(linkmsg.HeadAt{ID: at.ID, Number: 77}) || has(linkmsg.HeadAt{ID: "nobody", Number: at.Number}) {
		t.Error("it does not know who belongs to the cluster")
	}
	e := Entry{HeadAt: at, Removed: true}
	b, err := e.Encode()
	if err == nil {
		err = s.r.PutSetting(t.Context(), SettingOf(at.ID), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !has(at) {
		t.Error("a head that is being removed is still needed, and is told that it does not belong to the cluster")
	}
	if err := s.r.DelSetting(t.Context(), SettingOf(at.ID)); err != nil {
		t.Fatal(err)
	}
	if !has(at) { // as long as the state has not been read, the book counts, which still has it here
		t.Error("the book does not count")
	}
}

// A head that has just started has the whole log, and its state is that of its last snapshot: it does not know which large values it lacks.
func TestVoters_HeadHasTheLogAndAnOlderState_Lags(t *testing.T) {
	s, others := leadsThree(t)
	stored, applied := s.r.Indexes()
	lags := func() bool {
		list := s.voters()
		return list[slices.IndexFunc(list, func(v Voter) bool { return v.ID == others[0].ID })].Lags
	}
	for _, c := range []struct {
		what           string
		applied, shown uint64
		lags           bool
	}{
		{"it lacks the last command", applied - 1, applied, true},
		{"it has it", applied, applied + 7, false},
		{"it has not yet heard of what was committed between the last two questions", applied + 7, applied + 9, false},
		{"it was started again", 0, applied + 9, true},
	} {
		s.end(others[0].ID, &linkmsg.Member{Stored: stored, Applied: c.applied}, c.shown)
		if got := lags(); got != c.lags {
			t.Errorf("%s: lags %v", c.what, got)
		}
	}
}
