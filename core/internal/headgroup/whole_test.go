package headgroup

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// Head a has moved and head c has joined after the last snapshot. All heads end, and b is started again: until another head is there, its state is
// that of the snapshot. Its file knows better. Later the state does: a has moved once more, which b could not write into its file.
func TestBook_StateIsOlderAtTheStart_FileCountsUntilTheStateIsWhole(t *testing.T) {
	w := newStates(t, raftstate.Options{CompactEntries: 50})
	nodes, stores, open := w.nodes, w.stores, w.open
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	put := func(id string, number uint32, address string) Entry {
		t.Helper()
		e := Entry{HeadAt: linkmsg.HeadAt{ID: id, Number: number, Addresses: []string{address}, Level: raftstate.Level}}
		b, err := e.Encode()
		if err == nil {
			err = nodes["a"].PutSetting(ctx, SettingOf(id), b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	put("a", 1, "a:1")
	atB := put("b", 2, "b:1")
	for range 60 {
		if _, err := nodes["a"].PutKV(ctx, "", "k", nil, true); err != nil {
			t.Fatal(err)
		}
	}
	for {
		list, err := stores["b"].Snapshots.List()
		if err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		if len(list) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	noted := []Entry{put("a", 1, "a:2"), atB, put("c", 3, "c:1")}
	put("a", 1, "a:3")
	if err := nodes["b"].Fresh(ctx); err != nil {
		t.Fatal(err)
	}
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	self := pki.Identity{Role: pki.RoleHead, Number: 2}
	NewBook(dir, &File{Identity: self.String()}, log).Set(noted)
	for _, n := range nodes {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	open("b")
	if b, _ := nodes["b"].Setting(SettingOf("c")); b != nil {
		t.Fatal("the state is not older than the file, so this shows nothing")
	}
	book := NewBook(dir, f, log)
	_, changed := book.List()
	g := New(Options{ID: "b", Number: 2, Book: book, Log: log, Control: func(uint32) (*wire.Peer, error) { return nil, errors.New("there are no links here") }})
	g.Begin(nodes["b"])
	defer func() {
		for _, n := range nodes {
			_ = n.Close()
		}
		g.Close()
	}()
	is := func(address string) {
		t.Helper()
		f, err := ReadFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]linkmsg.HeadAt{g.Heads().All, f.Heads} {
			if len(list) != 3 || !slices.Equal(list[0].Addresses, []string{address}) || list[2].ID != "c" {
				t.Fatalf("the heads are %+v, and head 1 is at %s", list, address)
			}
		}
	}
	g.read() // what Begin does at once, and at each event
	is("a:2")
	if has, err := g.Has(ctx, linkmsg.HeadAt{ID: "c", Number: 3}); !has || err != nil {
		t.Errorf("head c asks for the keys, and is told %v, %v", has, err)
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if has, err := g.Has(short, linkmsg.HeadAt{ID: "d", Number: 4}); has || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("head d may have joined meanwhile, and is told %v, %v", has, err)
	}
	open("a")
	select {
	case <-changed:
	case <-ctx.Done():
		t.Fatal("the book does not follow the state when that is whole")
	}
	g.read() // it returns when the file is written, too
	is("a:3")
	if has, err := g.Has(ctx, linkmsg.HeadAt{ID: "d", Number: 4}); has || err != nil {
		t.Errorf("there is no head d, and it is told %v, %v", has, err)
	}
}
