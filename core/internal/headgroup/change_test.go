package headgroup

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// Only a head that answers is made the leader, and a head that leads since a moment ago asks before it says that one does not.
func TestTransfer_HeadThatDoesNotAnswer_IsRefused(t *testing.T) {
	s, others := leadsThree(t)
	stored, _ := s.r.Indexes()
	lead := func(number uint32) error {
		_, err := s.g.Change(t.Context(), linkmsg.HeadTransfer, number, true)
		return err
	}
	s.begun = time.Now().Add(-time.Hour)
	s.end(others[0].ID, &linkmsg.Member{Stored: stored}, 0)
	if err := lead(others[1].Number); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a head that does not answer: %v", err)
	}
	here, _ := s.g.o.Book.Number(s.g.o.ID)
	if err := lead(here); err != nil {
		t.Errorf("the head that leads: %v", err)
	}
	s.begun = time.Now()
	answered := time.AfterFunc(50*time.Millisecond, func() { s.end(others[1].ID, &linkmsg.Member{Stored: stored}, 0) })
	defer answered.Stop()
	if err := lead(others[1].Number); err != nil {
		t.Errorf("a head that answers a moment later: %v", err)
	}
}

// Six votes would be slower and not safer than five.
func TestGive_FiveHaveAVote_TheSixthIsRefused(t *testing.T) {
	for text, room := range map[string]bool{"LVVVVS": false, "LVVVvS": true, "LVVVwS": false, "LVVVS": true, "LS": true} {
		var list []*Voter
		for _, v := range played(text) {
			list = append(list, &v)
		}
		if got := roomForVote(list); got != room {
			t.Errorf("%s: room for one more vote: %v, want %v", text, got, room)
		}
	}
	s, others := leadsThree(t)
	ctx := t.Context()
	for i, id := range []string{"x", "y", "z"} {
		e := Entry{HeadAt: linkmsg.HeadAt{ID: id, Number: uint32(10 + i), Addresses: []string{"127.0.0.1:1"}}}
		err := s.put(ctx, &e)
		if err == nil {
			err = s.r.AddStandby(ctx, id, id)
		}
		if err == nil && id != "z" {
			err = s.r.Promote(ctx, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, e.HeadAt)
	}
	for _, at := range others {
		s.end(at.ID, &linkmsg.Member{}, 0)
	}
	if _, err := s.g.Change(ctx, linkmsg.HeadVote, 12, true); err == nil || !strings.Contains(err.Error(), "5 heads have one") {
		t.Errorf("a sixth vote: %v", err)
	}
	if _, err := s.g.Change(ctx, linkmsg.HeadVote, 10, true); err != nil {
		t.Errorf("a head that has one: %v", err)
	}
}
