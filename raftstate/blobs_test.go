package raftstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
)

// checkBlobs compares the counts with a model: a look at all records.
func checkBlobs(t *testing.T, m *Machine) {
	t.Helper()
	want, sizes := map[record.BlobHash]int{}, map[record.BlobHash]uint32{}
	add := func(b record.Blob) {
		want[b.Hash]++
		if s, known := sizes[b.Hash]; known && s != b.Size {
			t.Fatalf("%s has another size in another record", b)
		}
		sizes[b.Hash] = b.Size
	}
	for _, keys := range m.kv {
		for k, v := range keys {
			if (v.Blob == nil) == (v.Data == nil) {
				t.Fatalf("key %q has two values, or none", k)
			}
			if v.Blob != nil {
				add(*v.Blob)
			}
		}
	}
	for _, a := range m.actors.All() {
		if a.Blobs != nil {
			for _, b := range []record.Blob{a.Blobs.Spec, a.Blobs.Meta, a.Blobs.Home} {
				if !b.None() {
					add(b)
				}
			}
			if !a.Live() {
				t.Fatalf("%s is dead and keeps large values", a)
			}
		}
	}
	m.classes.Image(func(*classes.ImagePart) {}, func(p *classes.ImageBlob) { add(p.Part) }, func(*classes.ImagePending) {})
	if len(want) != m.blobs.Len() {
		t.Fatalf("%d large values, counted as %d", len(want), m.blobs.Len())
	}
	for b := range m.blobs.All() {
		if n := m.blobs.Users(b.Hash); n != want[b.Hash] || b.Size != sizes[b.Hash] {
			t.Fatalf("%s has %d users, and %d records of %d bytes name it", b, n, want[b.Hash], sizes[b.Hash])
		}
	}
}

func blobNumber(i int, size uint32) record.HeldBlob {
	return record.HeldBlob{Blob: record.Blob{Hash: record.BlobHash{byte(i), byte(i >> 8), 1}, Size: size}}
}

// What does not fit is refused and changes nothing; a value that takes the place of another one needs its room only.
func TestMachine_LargeValuesAreFull_Refused(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	put := func(key string, x record.HeldBlob) Outcome {
		t.Helper()
		index++
		r, _ := m.Apply(index, Command{Body: &KVBlob{"ns", key, x, true}})
		checkBlobs(t, m)
		return r.Outcome
	}
	const n = record.MaxAllBlobBytes / record.MaxBlobBytes
	for i := range n {
		if o := put(fmt.Sprint(i), blobNumber(i, record.MaxBlobBytes)); o != Done {
			t.Fatal(i, o)
		}
	}
	if o := put("more", blobNumber(n, 1)); o != BlobsFull {
		t.Fatalf("got outcome %d", o)
	}
	if o := put("more", blobNumber(3, record.MaxBlobBytes)); o != Done {
		t.Errorf("a value that is there under another key, too, needs no room: outcome %d", o)
	}
	if o := put("3", blobNumber(n, 1)); o != BlobsFull {
		t.Errorf("the replaced value stays under another key, so nothing gets free: outcome %d", o)
	}
	if v := m.kv["ns"]["3"]; *v.Blob != blobNumber(3, record.MaxBlobBytes).Blob {
		t.Errorf("a refused change has changed the value to %v", v.Blob)
	}
	if o := put("4", blobNumber(n, record.MaxBlobBytes)); o != Done {
		t.Errorf("the replaced value makes room: outcome %d", o)
	}
	body := &KVBlob{"ns", "more", blobNumber(n, 1), true}
	if err := (Result{Outcome: BlobsFull}).err(body); !errors.Is(err, record.ErrBlobsFull) || !strings.Contains(err.Error(), "4096 MiB") {
		t.Errorf("got %v", err)
	}
}

// playedBlobs is what several members share.
type playedBlobs struct {
	mu      sync.Mutex
	values  map[record.BlobHash][]byte
	puts    int
	applied map[record.BlobTicket]bool
	fails   error
}

func newPlayedBlobs() *playedBlobs {
	return &playedBlobs{values: map[record.BlobHash][]byte{}, applied: map[record.BlobTicket]bool{}}
}

func (p *playedBlobs) Put(_ context.Context, value []byte) (x record.HeldBlob, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails != nil {
		return x, p.fails
	}
	p.puts++
	x = record.HeldBlob{Blob: record.BlobOf(value), Ticket: record.BlobTicket{byte(p.puts)}}
	p.values[x.Blob.Hash] = bytes.Clone(value)
	return x, nil
}

func (p *playedBlobs) Get(_ context.Context, b record.Blob) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, known := p.values[b.Hash]
	if !known {
		return nil, record.ErrBlobLost
	}
	return v, nil
}

func (p *playedBlobs) Applied(tickets ...record.BlobTicket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range tickets {
		p.applied[t] = true
	}
}

func (p *playedBlobs) allApplied() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.applied) == p.puts
}

// Large values of all kinds go to the files and come back, and neither the log nor a snapshot has their bytes. Small ones stay where they were.
func TestNode_LargeValues_AreNotInTheState(t *testing.T) {
	p := newPlayedBlobs()
	n := openWith(t, Options{Blobs: p})
	ctx := testContext(t)
	large, class, spec, home := bytes.Repeat([]byte("kv"), 1<<20), bytes.Repeat([]byte("code"), 1<<19), bytes.Repeat([]byte("s"), record.MinBlobBytes), bytes.Repeat([]byte("h"), 1<<20)
	if added, err := n.PutKV(ctx, "ns", "large", large, true); err != nil || !added {
		t.Fatal(added, err)
	}
	small := bytes.Repeat([]byte("x"), record.MinBlobBytes-1)
	if _, err := n.PutKV(ctx, "ns", "small", small, true); err != nil {
		t.Fatal(err)
	}
	object, actor := ids.Object{1}, ids.Actor{1}
	for at := 0; at < len(class); at += 1 << 20 {
		if have, err := n.PutCode(ctx, ids.Node{1}, actor, object, uint64(len(class)), uint64(at), class[at:at+1<<20]); err != nil || have != uint64(at+1<<20) {
			t.Fatal(have, err)
		}
	}
	if err := n.RegisterActor(ctx, record.Actor{ID: actor, Spec: spec, Meta: []byte("meta"), Home: home, Code: []ids.Object{object}, Detached: true, MaxRestarts: -1}); err != nil {
		t.Fatal(err)
	}
	if p.puts != 5 || !p.allApplied() {
		t.Errorf("%d values were put, and the tickets of %d are given back", p.puts, len(p.applied))
	}
	if v, _ := valueOf(t, n, "ns", "large"); !bytes.Equal(v, large) {
		t.Errorf("the value has %d bytes", len(v))
	}
	if v, _ := valueOf(t, n, "ns", "small"); !bytes.Equal(v, small) {
		t.Errorf("the small value has %d bytes", len(v))
	}
	if data, size, ok, err := n.Code(ctx, object, 1<<20+5); err != nil || !ok || size != uint64(len(class)) || !bytes.Equal(data, class[1<<20+5:]) {
		t.Errorf("the class: %d bytes of %d, %v, %v", len(data), size, ok, err)
	}
	a, _ := n.Actor(actor)
	if a.Blobs == nil || a.Spec != nil || a.Home != nil {
		t.Errorf("the record has %d and %d bytes", len(a.Spec), len(a.Home))
	}
	if a, err := n.WholeActor(ctx, a); err != nil || !bytes.Equal(a.Spec, spec) || string(a.Meta) != "meta" || !bytes.Equal(a.Home, home) || a.Blobs != nil {
		t.Errorf("the whole record: %d, %d and %d bytes, %v", len(a.Spec), len(a.Meta), len(a.Home), err)
	}
	var image bytes.Buffer
	n.fsm.view(func(m *Machine) {
		checkBlobs(t, m)
		if err := imageFormat.WriteRecords(&image, m.writeRecords); err != nil {
			t.Fatal(err)
		}
	})
	if image.Len() > len(small)+4096 {
		t.Errorf("the records of a snapshot have %d bytes", image.Len())
	}
	if list := n.Blobs(); len(list) != 4 { // the two parts of the class are equal
		t.Errorf("the state names %d large values", len(list))
	}
	delete(p.values, record.BlobOf(large).Hash)
	if _, _, err := n.GetKV(ctx, "ns", "large"); !errors.Is(err, record.ErrBlobLost) || !strings.Contains(err.Error(), `key "large"`) {
		t.Errorf("got %v", err)
	}
}

// What cannot be kept changes nothing, and is kept later.
func TestNode_LargeValueCannotBeKept_NothingChanges(t *testing.T) {
	p := newPlayedBlobs()
	n := openWith(t, Options{Blobs: p})
	ctx, large := testContext(t), make([]byte, 1<<20)
	if _, err := n.PutKV(ctx, "ns", "k", []byte("old"), true); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	p.fails = full
	if _, err := n.PutKV(ctx, "ns", "k", large, true); !errors.Is(err, full) || !strings.Contains(err.Error(), `key "k"`) {
		t.Errorf("got %v", err)
	}
	if err := n.RegisterActor(ctx, record.Actor{ID: ids.Actor{1}, Spec: large}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if _, err := n.PutCode(ctx, ids.Node{}, ids.Actor{1}, ids.Object{1}, 1<<20, 0, large); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if v, _ := valueOf(t, n, "ns", "k"); string(v) != "old" {
		t.Errorf("the value is %q", v)
	}
	if _, known := n.Actor(ids.Actor{1}); known {
		t.Error("the actor is registered")
	}
	p.fails = nil
	if _, err := n.PutKV(ctx, "ns", "k", make([]byte, record.MaxBlobBytes+1), true); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if _, err := n.PutKV(ctx, "ns", "k", large, true); err != nil {
		t.Error(err)
	}
}

// While a head of an older release takes part, large values are in the commands as before. They stay readable.
func TestNode_AHeadIsOlder_LargeValuesAreInTheState(t *testing.T) {
	p, lowest := newPlayedBlobs(), 2
	n := openWith(t, Options{Blobs: p, Lowest: func(int) int { return lowest }})
	ctx, large := testContext(t), bytes.Repeat([]byte("a"), 1<<20)
	put := func(key string, actor byte) {
		t.Helper()
		if _, err := n.PutKV(ctx, "ns", key, large, true); err != nil {
			t.Fatal(err)
		}
		if err := n.RegisterActor(ctx, record.Actor{ID: ids.Actor{actor}, Spec: large}); err != nil {
			t.Fatal(err)
		}
	}
	put("before", 1)
	if p.puts != 0 {
		t.Fatalf("%d values were put, and an older head knows no such command", p.puts)
	}
	lowest = Level
	put("after", 2)
	if p.puts != 2 {
		t.Errorf("%d values were put", p.puts)
	}
	for _, key := range []string{"before", "after"} {
		if v, ok := valueOf(t, n, "ns", key); !ok || !bytes.Equal(v, large) {
			t.Errorf("the value from %s has %d bytes", key, len(v))
		}
	}
}

// A record that a caller sends may not name large values: nothing says that the heads have them.
func TestNode_CallerNamesLargeValues_IsRefused(t *testing.T) {
	n := openWith(t, Options{Blobs: newPlayedBlobs()})
	a := record.Actor{ID: ids.Actor{1}, Blobs: &record.ActorBlobs{Spec: record.BlobOf([]byte("x"))}}
	if err := n.RegisterActor(testContext(t), a); !errors.Is(err, record.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// A member that starts again names what it named before, from its log or its snapshot, and Inspect says the same without the member.
func TestInspect_NamesLargeValuesAndWhatNeedsThem(t *testing.T) {
	p, s := newPlayedBlobs(), NewMemoryStores()
	n, err := Open(Options{ID: "a", Blobs: p, Stores: s})
	if err != nil {
		t.Fatal(err)
	}
	ctx, large := testContext(t), make([]byte, 1<<20)
	put := func(key string) {
		large[0]++
		if _, err := n.PutKV(ctx, "ns", key, large, true); err != nil {
			t.Fatal(err)
		}
	}
	put("in the snapshot")
	if err := n.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	put("in the log")
	put("deleted")
	if _, err := n.DelKV(ctx, "ns", "deleted", false); err != nil {
		t.Fatal(err)
	}
	if err := n.RegisterActor(ctx, record.Actor{ID: ids.Actor{1}, ClassName: "Keeper", Name: "it", Spec: large}); err != nil {
		t.Fatal(err)
	}
	want := len(n.Blobs())
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := Inspect("a", s)
	if err != nil || len(st.Blobs) != want || want != 3 {
		t.Fatalf("%d large values, and the member had %d: %v", len(st.Blobs), want, err)
	}
	var says string
	for _, b := range st.Blobs {
		says += fmt.Sprintln(b.Uses)
	}
	for _, part := range []string{`"in the snapshot"`, `"in the log"`, `actor Keeper "it"`} {
		if !strings.Contains(says, part) {
			t.Errorf("%s is missing in %s", part, says)
		}
	}
}

// The answer to a change with a large value was lost, and when its request comes again the heads cannot keep the value.
func TestPutKV_RequestComesAgainAndTheValueCannotBeKept_GetsTheFirstAnswer(t *testing.T) {
	p := newPlayedBlobs()
	n := openWith(t, Options{Blobs: p})
	put := func(number uint64) (bool, error) {
		ctx := record.Request{Client: [16]byte{7}, Number: number}.With(testContext(t))
		return n.PutKV(ctx, "ns", "k", make([]byte, 100<<10), true)
	}
	if added, err := put(1); !added || err != nil {
		t.Fatal(added, err)
	}
	unkept := errors.New("2 heads have to keep it, and 1 does")
	p.mu.Lock()
	p.fails = unkept
	p.mu.Unlock()
	if added, err := put(1); !added || err != nil {
		t.Errorf("the request comes again: %v, %v", added, err)
	}
	var e *record.BlobNotKeptError
	if _, err := put(2); !errors.As(err, &e) || !errors.Is(err, unkept) || !strings.Contains(err.Error(), `key "k"`) {
		t.Errorf("another request: %v", err)
	}
}
