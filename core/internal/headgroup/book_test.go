package headgroup

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

func entry(number uint32, addresses ...string) Entry {
	return Entry{HeadAt: linkmsg.HeadAt{ID: string(rune('a' + number)), Number: number, Addresses: addresses}}
}

// A head that has moved is dialed where it says that it is, first, and where the state says, after that: one of the two is newer.
func TestMoved_HeadSaysWhereItIs_ComesBeforeTheState(t *testing.T) {
	dir := t.TempDir()
	b := NewBook(dir, &File{Identity: "x", Heads: []linkmsg.HeadAt{entry(1, "a:1").HeadAt, entry(2, "b:1").HeadAt}}, slog.New(slog.DiscardHandler))
	is := func(number uint32, want ...string) {
		t.Helper()
		if got := b.Addresses(number); !slices.Equal(got, want) {
			t.Errorf("head %d is at %q, want %q", number, got, want)
		}
	}
	_, changed := b.List()
	if !b.Moved(2, []string{"b:2"}) {
		t.Error("a move is no news")
	}
	<-changed
	is(2, "b:2", "b:1")
	is(1, "a:1")
	if b.Moved(2, []string{"b:2"}) || b.Moved(3, []string{"c:1"}) || b.Moved(1, nil) {
		t.Error("what was known, what is no head, and no address are news")
	}
	b.Set([]Entry{entry(1, "a:1"), entry(2, "b:1")}) // the state is read, and does not know it yet
	is(2, "b:2", "b:1")
	b.Set([]Entry{entry(1, "a:1"), entry(2, "b:2")})
	is(2, "b:2")
	b.Set([]Entry{entry(1, "a:1"), entry(2, "b:3")}) // it has moved again, and could not tell this head
	is(2, "b:2", "b:3")
	f := b.copy()
	if err := linkmsg.CheckHeads(f.Heads); err != nil {
		t.Error(err)
	}
	many := strings.Split("m:1 m:2 m:3 m:4 m:5 m:6 m:7 m:8", " ")
	b.Moved(1, many)
	is(1, many...)
}
