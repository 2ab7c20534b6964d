package headprocess

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/raftstate"
)

// The folder of a head that was removed is the last one that is left, so its head goes on with the cluster, and is a head like any other.
func TestRecover_HeadThatWasRemoved_IsOneAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	folder, log := t.TempDir(), slog.New(slog.DiscardHandler)
	open := func() (*raftlog.Dir, *raftstate.Node) {
		t.Helper()
		dir, err := raftlog.Open(folder, raftlog.Options{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		n, err := raftstate.Open(raftstate.Options{ID: dir.ID(), Stores: dir.Stores()})
		if err != nil {
			t.Fatal(err)
		}
		return dir, n
	}
	end := func(dir *raftlog.Dir, n *raftstate.Node) {
		t.Helper()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	dir, n := open()
	at := linkmsg.HeadAt{ID: dir.ID(), Number: 4, Addresses: []string{"127.0.0.1:1"}, Level: raftstate.Level}
	e := headgroup.Entry{HeadAt: at, Removed: true}
	b, err := e.Encode()
	if err == nil {
		err = n.PutSetting(ctx, headgroup.SettingOf(dir.ID()), b)
	}
	if err == nil {
		err = n.PutSetting(ctx, "kept", []byte("v"))
	}
	if err != nil {
		t.Fatal(err)
	}
	end(dir, n)
	self := pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead, Number: 4}
	other := linkmsg.HeadAt{ID: "other", Number: 5, Addresses: []string{"127.0.0.1:2"}}
	for name, heads := range map[string][]linkmsg.HeadAt{"others have stayed": {at, other}, "an earlier recovery has left the note": {at}} {
		f := &headgroup.File{Identity: self.String(), Heads: heads, Removed: true}
		if err := f.Write(folder); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Recover(folder, true, &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := out.String(); !strings.Contains(text, "was removed from its cluster") || !strings.Contains(text, "is the only head now") {
			t.Errorf("%s: it says %s", name, text)
		}
		if f, err = headgroup.ReadFile(folder); err != nil || f.Removed || len(f.Heads) != 1 {
			t.Errorf("%s: the file is %+v, %v", name, f, err)
		}
		dir, n = open()
		if _, err := n.Lead(ctx); err != nil {
			t.Fatal(err)
		}
		for _, e := range headgroup.Entries(n) {
			if e.Removed {
				t.Errorf("%s: the state says that it is being removed", name)
			}
		}
		if v, _ := n.Setting("kept"); string(v) != "v" {
			t.Errorf("%s: another setting is %q", name, v)
		}
		end(dir, n)
	}
}
