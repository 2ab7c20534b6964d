package keyspace

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/record"
)

// model is the store as its users think of it: it keeps everything and looks at all of it.
type model struct {
	pairs   map[string]record.KeyPair
	changes []record.KeyChange
	leases  map[uint64]int64
	reign   uint64
}

func (m *model) write(index uint64, w *record.KeyWrite) record.KeyWritten {
	have := m.pairs[w.Key]
	if w.If && have.Version != w.Version {
		return record.KeyWritten{Outcome: record.KeyConflict, Version: have.Version}
	}
	if w.Delete {
		if have.Version == 0 {
			return record.KeyWritten{}
		}
		m.delete(index, w.Key, 0)
		return record.KeyWritten{Version: index}
	}
	if _, there := m.leases[w.Lease]; w.Lease != 0 && !there {
		return record.KeyWritten{Outcome: record.KeyLeaseGone}
	}
	m.pairs[w.Key] = record.KeyPair{Key: w.Key, Value: w.Value, Version: index, Lease: w.Lease}
	m.changes = append(m.changes, record.KeyChange{Seq: uint64(len(m.changes) + 1), Version: index, Key: w.Key, Value: w.Value, Lease: w.Lease})
	return record.KeyWritten{Version: index}
}

func (m *model) delete(index uint64, key string, lease uint64) {
	delete(m.pairs, key)
	m.changes = append(m.changes, record.KeyChange{Seq: uint64(len(m.changes) + 1), Version: index, Key: key, Deleted: true, Lease: lease})
}

func (m *model) end(index, id, reign uint64) bool {
	if _, there := m.leases[id]; !there || reign != 0 && reign != m.reign {
		return false
	}
	for _, p := range m.list("") {
		if p.Lease == id {
			m.delete(index, p.Key, id)
		}
	}
	delete(m.leases, id)
	return true
}

func (m *model) list(prefix string) (list []record.KeyPair) {
	for _, p := range m.pairs {
		if strings.HasPrefix(p.Key, prefix) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b record.KeyPair) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func (m *model) since(prefix string, from uint64) (list []record.KeyChange) {
	for _, c := range m.changes[from:] {
		if strings.HasPrefix(c.Key, prefix) {
			list = append(list, c)
		}
	}
	return list
}

// restored returns the store after a snapshot, and the snapshot's bytes.
func restored(t *testing.T, s *Space) (*Space, string) {
	t.Helper()
	image := s.Clone().Image()
	b, err := msgpack.Marshal(&image)
	if err != nil {
		t.Fatal(err)
	}
	var again Image
	if err := msgpack.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	r, err := again.Space()
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

// Random commands do to the store what they do to the model, a watcher that goes on from where it was misses and doubles nothing, and
// the same holds for a store that was restored from a snapshot in between.
func TestSpace_RandomCommands_AsTheModel(t *testing.T) {
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := &model{pairs: map[string]record.KeyPair{}, leases: map[uint64]int64{}}
		s := New()
		var granted []uint64
		var seen []record.KeyChange
		var at uint64
		lease := func() uint64 {
			if len(granted) == 0 || rnd.IntN(3) == 0 {
				return 0
			}
			return granted[rnd.IntN(len(granted))]
		}
		index := uint64(0)
		for range 250 {
			index += 1 + uint64(rnd.IntN(3))
			key := fmt.Sprintf("%c/%d", 'a'+rnd.IntN(3), rnd.IntN(5))
			switch n := rnd.IntN(20); {
			case n < 13:
				w := record.KeyWrite{Key: key, Delete: rnd.IntN(4) == 0}
				if w.If = rnd.IntN(2) == 0; w.If && rnd.IntN(3) > 0 {
					w.Version = m.pairs[key].Version
				}
				if !w.Delete {
					w.Value, w.Lease = fmt.Appendf(nil, "%d", rnd.IntN(9)), lease()
				}
				if got, want := s.Write(index, &w), m.write(index, &w); got != want {
					t.Fatalf("seed %d, %+v: got %+v, want %+v", seed, w, got, want)
				}
			case n < 15:
				ttl := int64(1000 + rnd.IntN(1000))
				if !s.Grant(index, ttl) {
					t.Fatalf("seed %d: no lease is granted", seed)
				}
				m.leases[index] = ttl
				granted = append(granted, index)
			case n < 16:
				s.Begin(index)
				m.reign = index
			case n < 18:
				id, reign := lease(), []uint64{0, m.reign, index}[rnd.IntN(3)]
				if got, want := s.End(index, id, reign), m.end(index, id, reign); got != want {
					t.Fatalf("seed %d: the end of lease %d in reign %d: %v, want %v", seed, id, reign, got, want)
				}
			default:
				before := s
				var was, is string
				s, was = restored(t, s)
				if _, is = restored(t, s); was != is {
					t.Fatalf("seed %d: the restored store has another image", seed)
				}
				if !reflect.DeepEqual(s.leases, before.leases) || s.bytes != before.bytes || s.past.bytes != before.past.bytes {
					t.Fatalf("seed %d: leases %v became %v, %d bytes %d, %d bytes of changes %d", seed, before.leases, s.leases, before.bytes, s.bytes, before.past.bytes, s.past.bytes)
				}
			}
			prefix := []string{"", "a/", "b/1", "none"}[rnd.IntN(4)]
			if got := s.List(prefix); !reflect.DeepEqual(got.Pairs, m.list(prefix)) || got.Seq != uint64(len(m.changes)) || got.Large {
				t.Fatalf("seed %d: list %q: got %+v, want %+v", seed, prefix, got, m.list(prefix))
			}
			want, there := m.pairs[key]
			if got, found := s.Get(key); found != there || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: get %q: got %+v, want %+v", seed, key, got, want)
			}
			from := uint64(rnd.IntN(len(m.changes) + 1))
			if got, _ := s.Since(prefix, from); !reflect.DeepEqual(got.List, m.since(prefix, from)) || got.Compacted || got.Next != s.Seq() {
				t.Fatalf("seed %d: %q since %d: got %+v, want %+v", seed, prefix, from, got, m.since(prefix, from))
			}
			if rnd.IntN(3) == 0 {
				got, some := s.Since("", at)
				if some != (at < s.Seq()) {
					t.Fatalf("seed %d: something to say: %v, at %d of %d", seed, some, at, s.Seq())
				}
				seen, at = append(seen, got.List...), got.Next
			}
		}
		got, _ := s.Since("", at)
		if seen = append(seen, got.List...); !reflect.DeepEqual(seen, m.changes) {
			t.Fatalf("seed %d: the watcher has seen %d changes, %d were made", seed, len(seen), len(m.changes))
		}
		for id, ttl := range m.leases {
			if l, found := s.Lease(id); !found || l.TTLMs != ttl {
				t.Fatalf("seed %d: lease %d: got %+v, %v", seed, id, l, found)
			}
		}
	}
}
