package raftstate

import (
	"runtime"
	"testing"

	"github.com/eagleray/eagleray/raftstate/internal/answered"
)

// 2,000 commands a second from others push out nothing that a client still waits for.
func TestMachine_SlowClientAmongFastOnes_KeepsItsResult(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	put := func(client byte, seq, answered uint64) Result {
		index++
		r, _ := m.Apply(index, Command{Request: RequestID{Client: Client{client}, Seq: seq}, Answered: answered, Body: &JobStart{}})
		return r
	}
	first := put(1, 1, 1)
	for seq := uint64(1); seq <= 50_000; seq++ {
		put(2, seq, seq)
	}
	if r := put(1, 1, 1); r != first {
		t.Errorf("after 50,000 commands of another client: got %+v, want %+v", r, first)
	}
	if n := m.answered.Len(); n != 2 {
		t.Errorf("%d results are kept of two requests that are not acknowledged", n)
	}
	if r := put(2, 49_999, 49_999); r.Outcome != Expired {
		t.Errorf("a request that was acknowledged: got %+v", r)
	}
}

// A client of an older version acknowledges nothing: the highest numbers are kept.
func TestMachine_ClientAcknowledgesNothing_RefusesWhatWasForgotten(t *testing.T) {
	m, index := NewMachine(), uint64(0)
	put := func(client byte, seq uint64) Result {
		index++
		r, _ := m.Apply(index, Command{Request: RequestID{Client: Client{client}, Seq: seq}, Body: &JobStart{}})
		return r
	}
	for seq := uint64(1); seq <= uint64(answered.Kept.PerClient)+10; seq++ {
		put(1, seq)
	}
	for range 2 {
		if r := put(1, 10); r.Outcome != Expired {
			t.Errorf("the forgotten: got %+v", r)
		}
		if r := put(1, 11); r.Outcome != Done || r.Index != 11 {
			t.Errorf("the oldest kept: got %+v", r)
		}
		m = restored(t, m)
	}
	if r := put(2, 1); r.Outcome != Done || r.Index != index {
		t.Errorf("another client: got %+v", r)
	}
}

// What a client costs, as the documentation says: measured with full tables.
func TestTable_FullTables_MemoryAsDocumented(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	client := func(i int) Client { return Client{byte(i), byte(i >> 8), 1} }
	before := live()
	idle := answered.New[Result]()
	for i := range answered.Kept.Clients { // each has sent some requests, and waits for none
		for seq := uint64(1); seq <= 5; seq++ {
			q := answered.Request{ID: RequestID{Client: client(i), Seq: seq}, Answered: seq}
			idle.Find(q)
			idle.Keep(q, seq, Result{Index: seq})
		}
	}
	perClient := (live() - before) / int64(answered.Kept.Clients)
	before = live()
	full := answered.New[Result]()
	for i := range answered.Kept.Results / answered.Kept.PerClient * 2 {
		for seq := range uint64(answered.Kept.PerClient) {
			full.Keep(answered.Request{ID: RequestID{Client: client(i), Seq: seq + 1}}, seq, Result{Index: seq})
		}
	}
	all := live() - before
	if full.Len() != answered.Kept.Results {
		t.Errorf("%d results are kept", full.Len())
	}
	t.Logf("an idle client takes %d bytes, a result %d, and %d results of all clients %d KiB", perClient, all/int64(full.Len()), full.Len(), all>>10)
	if perClient > 300 || all > 16<<20 {
		t.Errorf("an idle client takes %d bytes, and full tables %d", perClient, all)
	}
	runtime.KeepAlive(idle)
	runtime.KeepAlive(full)
}
