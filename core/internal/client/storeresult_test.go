package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Of a call whose third result cannot be stored, the first two, which lie in
// the store, are freed: its caller gets an error in place of all three.
func TestReply_LaterResultDoesNotFit_EarlierOnesAreFreed(t *testing.T) {
	d := startDaemon(t)
	var stored, freed []string // results, in their order; what the worker itself frees
	d.mu.Lock()
	d.first = func(m *wire.Message) bool {
		if m.Type == wire.TObjFree && d.peers[m.Peer()] == wire.RoleWorker { // the caller frees them, too
			var q wire.ObjRefs
			_ = m.Decode(&q)
			for _, id := range q.ObjectIDs {
				freed = append(freed, string(id))
			}
		}
		if m.Type != wire.TObjCreate {
			return false
		}
		var q wire.ObjCreate
		_ = m.Decode(&q)
		if q.Size > 2<<20 {
			_ = m.Fail(fault.New(fault.StoreFull, "there is no room"))
			return true
		}
		stored = append(stored, string(q.ObjectID))
		return false
	}
	d.mu.Unlock()
	large := func(n int) Value { return Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, n)}} }
	d.worker(func(c *Client, it *Item) {
		results := []Value{large(1 << 20), large(1 << 20), large(3 << 20)}
		if textOf(it) == "fits" {
			results[2] = large(1 << 20)
		}
		_ = c.Reply(it.Token, results, 0)
	})
	c := d.driver()
	tm := tasks(t, c, "f", 3, 0)
	call := func(said string) ids.Object {
		t.Helper()
		id, _, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(said)}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := call("fits not")
	f, err := c.Get(first, testLimit)
	if err != nil || !f.IsError || !strings.Contains(string(f.Envelope), "there is no room") {
		t.Fatalf("%+v, %v", f, err)
	}
	d.eventually("the results that were stored are freed", func() bool {
		return len(stored) == 2 && len(freed) == 2
	})
	d.mu.Lock()
	want := []string{}
	for i := range uint64(2) {
		id := ids.NewObject(first.Count()+i, c.self, c.info.Job, uint32(i+1))
		want = append(want, string(id[:]))
	}
	if !slices.Equal(stored, want) || !slices.Equal(freed, want) {
		t.Errorf("stored are %x, want %x; freed are %x", stored, want, freed)
	}
	stored, freed = nil, nil
	d.mu.Unlock()
	fits := call("fits")
	if f, err := c.Get(fits, testLimit); err != nil || f.IsError {
		t.Fatalf("%+v, %v", f, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(freed) > 0 || len(stored) != 3 {
		t.Errorf("of a call that succeeded %d results are stored and %d freed", len(stored), len(freed))
	}
}
