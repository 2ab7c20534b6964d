package daemon_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// written changes a key, and returns its version.
func written(t *testing.T, d *play.Driver, w record.KeyWrite) uint64 {
	t.Helper()
	var r record.KeyWritten
	d.Call(wire.TKeyWrite, w, &r)
	if r.Outcome != record.KeyDone {
		t.Fatalf("%+v: %+v", w, r)
	}
	return r.Version
}

// A process of a session with the head in its daemon has the key-value store of Go programs: what one changes, the others read and watch.
// It does not touch the internal key-values.
func TestFlow_Keys_OneProcessChangesAndAnotherSeesIt(t *testing.T) {
	s := play.Start(t, 1)
	d, other := s.Driver(nil), s.Driver(nil)
	version := written(t, d, record.KeyWrite{Key: "a", Value: []byte("1"), If: true})
	d.Call(wire.TKVPut, wire.KVPut{Namespace: "", Key: []byte("a"), Value: []byte("ray's")}, nil)
	var p *record.KeyPair
	other.Call(wire.TKeyRead, "a", &p)
	if p == nil || string(p.Value) != "1" || p.Version != version {
		t.Errorf("got %+v", p)
	}
	p = nil
	other.Call(wire.TKeyRead, "none", &p)
	if p != nil {
		t.Errorf("a key that is not there: %+v", p)
	}
	var l record.KeyList
	other.Call(wire.TKeyList, "", &l)
	if len(l.Pairs) != 1 || l.Seq != 1 {
		t.Errorf("the list is %+v", l)
	}
	got := make(chan record.KeyChanges, 1)
	go func() {
		var r record.KeyChanges
		other.Call(wire.TKeyWatch, wire.KeyWatch{Number: 1, Prefix: "b", From: l.Seq}, &r)
		got <- r
	}()
	var lease record.KeyLeased
	d.Call(wire.TKeyGrant, int64(60_000), &lease)
	written(t, d, record.KeyWrite{Key: "a", Delete: true})
	second := written(t, d, record.KeyWrite{Key: "b", Value: []byte("2"), Lease: lease.ID})
	want := []record.KeyChange{{Seq: 3, Version: second, Key: "b", Value: []byte("2"), Lease: lease.ID}}
	if r := <-got; !reflect.DeepEqual(r.List, want) || r.Next != 3 {
		t.Errorf("the watch has seen %+v", r)
	}
	var kept bool
	if d.Call(wire.TKeyKeep, lease.ID, &kept); !kept {
		t.Error("the lease is not kept")
	}
	d.Call(wire.TKeyEnd, lease.ID, nil)
	if d.Call(wire.TKeyKeep, lease.ID, &kept); kept {
		t.Error("the lease is kept after its end")
	}
	p = nil
	if d.Call(wire.TKeyRead, "b", &p); p != nil {
		t.Errorf("the key has outlived its lease: %+v", p)
	}
	for kind, body := range map[wire.Type]any{
		wire.TKeyWrite: record.KeyWrite{Key: "a", Value: make([]byte, record.MaxValueBytes+1)}, wire.TKeyRead: "", wire.TKeyList: strings.Repeat("k", record.MaxKeyBytes+1),
		wire.TKeyGrant: int64(1), wire.TKeyWatch: wire.KeyWatch{Prefix: "\xff"}, wire.TKeyKeep: "no number",
	} {
		if err := d.Try(kind, body, nil); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s with %.40v: %v", kind, body, err)
		}
	}
}
