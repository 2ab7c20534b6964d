package handover

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// sound is a snapshot that has something of everything and that is valid.
func sound() *Snapshot {
	id := ids.NewObject(1, ids.Owner{1}, ids.JobOf(1), 1)
	return &Snapshot{
		Refs: refs.Snapshot{Version: refs.SnapshotVersion, Next: 1, Objects: []refs.ObjectSnapshot{{ID: id[:], State: refs.Inline, Value: []byte("value")}}},
		Submit: snapshot.Submitter{
			Version: snapshot.Version, Templates: []snapshot.Template{{Name: "f", Resources: map[string]int64{"CPU": 1}}},
			Tasks: []snapshot.Task{{Returns: 1, Place: snapshot.PlaceSent}}, Channels: []snapshot.Channel{{LeaseID: 3, Addr: "/worker", Tasks: []int{0}}},
		},
		Served:  []Served{{Owner: make([]byte, ids.OwnerSize), State: wire.State{Unread: []byte{1}}, Questions: []Question{{Object: id[:], ID: 2}}}},
		Links:   []Link{{Addr: "/owner", GiveBack: [][]byte{id[:]}, Again: true}},
		Sockets: []Socket{{Unread: []byte{3}, Unsent: []byte{4}}},
		Guests:  []Guest{{Node: 2, ID: make([]byte, ids.NodeSize), RoundTrip: 5, State: wire.State{Unsent: []byte{6}, LastID: 7}}},
	}
}

func encoded(t testing.TB, x any) []byte {
	t.Helper()
	b, err := msgpack.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A successor reads what the worker has written down.
func TestDecode_WhatEncodeWrote_IsTheSame(t *testing.T) {
	s := sound()
	b, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("%+v was written, and %+v is read", s, got)
	}
	if got.Connections() != 4 {
		t.Errorf("%d connections go with it, want 4", got.Connections())
	}
}

// A snapshot of another version is refused before its fields are decoded, because it
// may have other fields. The error names both versions.
func TestDecode_OtherVersion_IsRefusedByItsNumber(t *testing.T) {
	another := func(change func(s *Snapshot)) []byte {
		s := sound()
		s.Version = Version
		change(s)
		return encoded(t, s)
	}
	both := func(version int) string {
		return fmt.Sprintf("the snapshot has version %d, and this successor reads version %d", version, Version)
	}
	for what, x := range map[string]struct {
		body []byte
		want string
	}{
		"the version before":                                     {another(func(s *Snapshot) { s.Version-- }), both(Version - 1)},
		"the next version":                                       {another(func(s *Snapshot) { s.Version++ }), both(Version + 1)},
		"a version with other fields":                            {encoded(t, []any{Version + 1, "text", 1.5}), both(Version + 1)},
		"a version with one field":                               {encoded(t, []any{Version + 1}), both(Version + 1)},
		"this version, with other fields":                        {encoded(t, []any{Version, "text"}), ""},
		"references of another version":                          {another(func(s *Snapshot) { s.Refs.Version-- }), "the references are a snapshot of version"},
		"tasks of another version":                               {another(func(s *Snapshot) { s.Submit.Version++ }), "the tasks are a snapshot of version"},
		"no version":                                             {encoded(t, []any{}), "does not begin with its version"},
		"a version that is no number":                            {encoded(t, []any{"2"}), "does not begin with its version"},
		"no list of fields":                                      {encoded(t, "text"), "does not begin with its version"},
		"a document without a version, which began with a count": {encoded(t, []any{uint64(1 << 40), []any{}}), both(1 << 40)},
	} {
		s, err := Decode(x.body)
		if err == nil || s != nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want an error with %q", what, err, x.want)
		}
	}
}

// A snapshot that no worker can have written is refused with what is wrong, because the
// successor runs in the daemon's process.
func TestValidate_SnapshotThatNoWorkerWrote_IsRefused(t *testing.T) {
	for words, change := range map[string]func(s *Snapshot){
		"occurs twice":             func(s *Snapshot) { s.Refs.Objects = append(s.Refs.Objects, s.Refs.Objects[0]) },
		"is of template 7":         func(s *Snapshot) { s.Submit.Tasks[0].Template = 7 },
		"2 sockets for 1 channels": func(s *Snapshot) { s.Sockets = make([]Socket, 2) },
		"0 sockets for 1 channels": func(s *Snapshot) { s.Sockets = nil },
		"a borrower has 2 bytes":   func(s *Snapshot) { s.Served[0].Owner = []byte("xx") },
		"a borrower's question":    func(s *Snapshot) { s.Served[0].Questions[0].Object = []byte("x") },
		"leads to node 0":          func(s *Snapshot) { s.Guests[0].Node = 0 },
		"to the daemon of node 2":  func(s *Snapshot) { s.Guests = append(s.Guests, s.Guests[0]) },
		"id of node 2 has 1 bytes": func(s *Snapshot) { s.Guests[0].ID = []byte("x") },
		"takes 60000000001 ns":     func(s *Snapshot) { s.Guests[0].RoundTrip = 60_000_000_001 },
		"is given back to /owner":  func(s *Snapshot) { s.Links[0].GiveBack[0] = []byte("x") },
	} {
		s := sound()
		change(s)
		b, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(b); err == nil || got != nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want an error with %q", err, words)
		}
	}
	if _, err := Decode([]byte("\xc1")); err == nil {
		t.Error("bytes that are no message are read as a snapshot")
	}
}

// Whatever a worker hands over is read or refused, without more memory than its bytes
// pay for. What is read can be written again.
func FuzzDecode(f *testing.F) {
	for _, change := range []func(s *Snapshot){func(*Snapshot) {}, func(s *Snapshot) { s.Sockets = nil }} {
		s := sound()
		change(s)
		b, err := Encode(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("a snapshot that was read and written again is refused: %v", err)
		}
	})
}
