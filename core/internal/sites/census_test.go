package sites

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// sources counts for how many rows it was asked.
type sources struct{ asked int }

func (s *sources) AddSource(h *wire.Held, _ *refs.Object) { s.asked++; h.ActorID = []byte("asked") }

func newTable() *refs.Table {
	return refs.NewTable(ids.NewWorkerOn(1).Owner(), ids.JobOf(1), "/own.sock", nil)
}

// Of very many objects those are told that are the largest, and the oldest of one size first.
func TestAddObjects_ManyMoreThanTheLimit_AreTheLargest(t *testing.T) {
	var s Texts
	table := newTable()
	var all []*refs.Object
	sum := uint64(0)
	for i := range 5000 { // sizes in no order, and each several times
		o, size := table.New(0, 1), uint64(i*7919%1000)
		table.PutInline(o, nil, size)
		all = append(all, o)
		sum += size
	}
	sortObjects(all)
	for _, limit := range []int{0, 1, 100, len(all) + 1} {
		var got wire.ProcessCensus
		var from sources
		s.AddObjects(&got, table, limit, &from)
		want := min(limit, len(all))
		if len(got.Objects) != want || got.Looked != len(all) || got.Bytes != sum || from.asked != want {
			t.Fatalf("limit %d: %d rows of %d objects with %d bytes, for %d was asked what they come from", limit, len(got.Objects), got.Looked, got.Bytes, from.asked)
		}
		for i, row := range got.Objects {
			if !bytes.Equal(row.ObjectID, all[i].ID[:]) || string(row.ActorID) != "asked" {
				t.Fatalf("limit %d: row %d is %x, want %s", limit, i, row.ObjectID, all[i].ID)
			}
		}
	}
}

// Not more objects than a bound are looked at, for everybody else waits meanwhile.
func TestAddObjects_VeryMany_LooksAtSoMany(t *testing.T) {
	var s Texts
	table := newTable()
	for range maxLooked + 7 {
		table.PutInline(table.New(0, 1), nil, 0)
	}
	for _, limit := range []int{0, 5} {
		var got wire.ProcessCensus
		s.AddObjects(&got, table, limit, &sources{})
		if got.Looked != maxLooked || len(got.Objects) != limit {
			t.Errorf("limit %d: %d objects are looked at, %d rows", limit, got.Looked, len(got.Objects))
		}
	}
}
