package headgroup

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

func TestHandOver_WaitsForWhatTheConnectedHeadsSay(t *testing.T) {
	t.Parallel()
	seats := threeSeats(t)
	first := reign(t, seats, "")
	old := seats[first.Member().Self()]
	number := func(s *seat) uint32 { return s.group.o.Number }
	for _, s := range followers(seats, old) {
		old.connected = append(old.connected, number(s))
	}
	// One has said who leads, and the other one has not.
	old.group.said.note(old.connected[0], linkmsg.Heads{Leads: true, Leader: old.connected[0], Term: first.Term() + 100})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- old.group.HandOver(ctx) }()
	second := reign(t, seats, old.group.o.ID)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("one head has not said that another one leads: %v", err)
	}

	next := seats[second.Member().Self()]
	for _, s := range followers(seats, next) {
		next.connected = append(next.connected, number(s))
	}
	go func() { ended <- next.group.HandOver(t.Context()) }()
	third := reign(t, seats, next.group.o.ID)
	for third.Term() <= second.Term() { // the head that led first has not noticed yet that it leads no more
		<-third.Ended()
		third = reign(t, seats, next.group.o.ID)
	}
	for _, n := range next.connected {
		next.group.said.note(n, linkmsg.Heads{Leads: true, Leader: number(seats[third.Member().Self()]), Term: third.Term()})
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestHandOver_HeadThatFollows_NothingToDo(t *testing.T) {
	t.Parallel()
	seats := threeSeats(t)
	first := reign(t, seats, "")
	for id, s := range seats {
		if id != first.Member().Self() {
			if err := s.group.HandOver(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := first.Confirm(); err != nil {
		t.Error("the leader has changed: ", err)
	}
}

func TestOthersFollow(t *testing.T) {
	t.Parallel()
	const self, other, away = 1, 2, 3
	for name, one := range map[string]struct {
		says    linkmsg.Heads
		follows bool
	}{
		"has said nothing":             {linkmsg.Heads{}, false},
		"knows no leader":              {linkmsg.Heads{Term: 8}, false},
		"follows this one":             {linkmsg.Heads{Leads: true, Leader: self, Term: 7}, false},
		"follows one of an older term": {linkmsg.Heads{Leads: true, Leader: away, Term: 6}, false},
		"follows the new one":          {linkmsg.Heads{Leads: true, Leader: away, Term: 8}, true},
		"leads":                        {linkmsg.Heads{Leads: true, Leader: other, Term: 8}, true},
		"follows this one later":       {linkmsg.Heads{Leads: true, Leader: self, Term: 8}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := []linkmsg.HeadAt{{ID: "a", Number: self}, {ID: "b", Number: other}, {ID: "c", Number: away}}
			here := &seat{connected: []uint32{other}}
			g := New(Options{ID: "a", Number: self, Control: here.control, Book: NewBook(t.TempDir(), &File{Heads: at}, slog.New(slog.DiscardHandler))})
			defer g.Close()
			g.said.note(other, one.says)
			if got := g.othersFollow(7); got != one.follows {
				t.Errorf("%v, wanted %v", got, one.follows)
			}
		})
	}
}
