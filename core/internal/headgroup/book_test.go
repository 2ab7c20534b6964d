package headgroup

import (
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

func entry(number uint32, addresses ...string) Entry {
	return Entry{HeadAt: linkmsg.HeadAt{ID: string(rune('a' + number)), Number: number, Addresses: addresses}}
}

// A head that begins again dials the others where they were last, also when they have said that themselves before the state said it.
func TestBook_HeadsMoveAndKeysChange_AreInTheFile(t *testing.T) {
	dir := t.TempDir()
	self := pki.Identity{Role: pki.RoleHead, Number: 1}
	b := NewBook(dir, &File{Identity: self.String(), Heads: []linkmsg.HeadAt{entry(1, "a:1").HeadAt, entry(2, "b:1").HeadAt}}, slog.New(slog.DiscardHandler))
	in := func() *File {
		t.Helper()
		f, err := ReadFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	b.Moved(2, []string{"b:2"})
	if at := in().Heads[1].Addresses; !slices.Equal(at, []string{"b:2", "b:1"}) {
		t.Errorf("a head has said that it is at b:2, and the file says %q", at)
	}
	b.Set([]Entry{entry(1, "a:1"), entry(2, "b:2")})
	if at := in().Heads[1].Addresses; !slices.Equal(at, []string{"b:2"}) {
		t.Errorf("the state says that a head is at b:2, and the file says %q", at)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { b.SetKeys([]byte{byte(i)}) })
		all.Go(func() { b.Moved(2, []string{"b:" + strconv.Itoa(10+i)}) })
	}
	all.Wait()
	if f, now := in(), b.copy(); !reflect.DeepEqual(*f, now) {
		t.Errorf("the file is %+v, want %+v", *f, now)
	}
	if err := b.Remove(); err != nil || !in().Removed {
		t.Errorf("the file does not say that the head was removed: %v", err)
	}
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
