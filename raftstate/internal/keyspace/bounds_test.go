package keyspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/record"
)

// Changes are forgotten by number and by bytes, a watcher behind them is told so, and one that they do not concern stays among them.
func TestSince_ManyChanges_ForgetsTheOldest(t *testing.T) {
	s := New()
	for i := range uint64(maxKept + 10) {
		s.Write(i+1, &record.KeyWrite{Key: "a", Value: []byte("v")})
	}
	if r, _ := s.Since("", 9); !r.Compacted {
		t.Errorf("the changes after one that is forgotten: %d", len(r.List))
	}
	r, some := s.Since("", 10)
	if !some || r.Compacted || len(r.List) != maxAnswer || r.List[0].Seq != 11 || r.Next != 10+maxAnswer {
		t.Errorf("the oldest: %v %d up to %d", r.Compacted, len(r.List), r.Next)
	}
	if r, some := s.Since("other", s.Seq()-ProgressAfter+1); some || r.Compacted {
		t.Errorf("nothing that concerns the watcher: %+v", r)
	}
	if r, some := s.Since("other", s.Seq()-ProgressAfter); !some || r.Compacted || r.Next != s.Seq() || len(r.List) != 0 {
		t.Errorf("it makes no progress: %+v %v", r, some)
	}
	if r, some := s.Since("", s.Seq()+1); !some || !r.Compacted {
		t.Errorf("a place that was never reached: %+v", r)
	}
	large := make([]byte, record.MaxValueBytes)
	for i := range uint64(maxKeptBytes/record.MaxValueBytes + 1) {
		s.Write(1e6+i, &record.KeyWrite{Key: "b", Value: large})
	}
	if s.past.bytes > maxKeptBytes || len(s.past.kept) > maxKeptBytes/record.MaxValueBytes {
		t.Errorf("%d changes with %d bytes are kept", len(s.past.kept), s.past.bytes)
	}
	if r, _ := s.Since("b", s.Seq()-30); len(r.List) == 0 || len(r.List)*record.MaxValueBytes > maxAnswerBytes {
		t.Errorf("one answer has %d changes of %d bytes", len(r.List), record.MaxValueBytes)
	}
}

// What does not fit is refused and changes nothing; what is replaced or deleted makes room.
func TestWrite_StoreIsFull_IsRefused(t *testing.T) {
	s, index := New(), uint64(0)
	put := func(key string, n int) record.KeyOutcome {
		index++
		return s.Write(index, &record.KeyWrite{Key: key, Value: make([]byte, n)}).Outcome
	}
	n := 0
	for ; put(fmt.Sprintf("%04d", n), record.MaxValueBytes) == record.KeyDone; n++ {
	}
	if s.bytes > MaxBytes || s.bytes < MaxBytes-record.MaxValueBytes-keyOverhead-4 {
		t.Errorf("full at %d bytes", s.bytes)
	}
	seq := s.Seq()
	if out := put("again", record.MaxValueBytes); out != record.KeysFull || s.Seq() != seq {
		t.Errorf("got %q, change %d after %d", out, s.Seq(), seq)
	}
	if out := put("0000", record.MaxValueBytes); out != record.KeyDone {
		t.Errorf("a value that takes the place of one of its size: %q", out)
	}
	index++
	s.Write(index, &record.KeyWrite{Key: "0001", Delete: true})
	if out := put("again", record.MaxValueBytes); out != record.KeyDone {
		t.Errorf("after a deletion: %q", out)
	}
	if r := s.List(""); !r.Large || r.Pairs != nil {
		t.Errorf("a list of everything has %d pairs", len(r.Pairs))
	}
	if r := s.List("00"); r.Large || len(r.Pairs) == 0 {
		t.Errorf("a list of some: %d, %v", len(r.Pairs), r.Large)
	}
}

func TestLeases_TooMany_AreRefused(t *testing.T) {
	s := New()
	for i := range uint64(MaxLeases) {
		if !s.Grant(i+1, 1000) {
			t.Fatalf("lease %d is refused", i+1)
		}
	}
	if s.Grant(MaxLeases+1, 1000) || len(s.Leases()) != MaxLeases {
		t.Error("there is no bound")
	}
	for i := range MaxLeaseKeys {
		if w := s.Write(uint64(1e6+i), &record.KeyWrite{Key: fmt.Sprint(i), Lease: 1}); w.Outcome != record.KeyDone {
			t.Fatalf("key %d: %q", i, w.Outcome)
		}
	}
	if w := s.Write(2e6, &record.KeyWrite{Key: "more", Lease: 1}); w.Outcome != record.KeyLeaseFull {
		t.Errorf("one key more: %q", w.Outcome)
	}
	if w := s.Write(2e6, &record.KeyWrite{Key: "7", Lease: 1}); w.Outcome != record.KeyDone {
		t.Errorf("a key that it has already: %q", w.Outcome)
	}
	if w := s.Write(2e6+1, &record.KeyWrite{Key: "8"}); w.Outcome != record.KeyDone {
		t.Errorf("a key that leaves the lease: %q", w.Outcome)
	}
	if w := s.Write(2e6+2, &record.KeyWrite{Key: "more", Lease: 1}); w.Outcome != record.KeyDone {
		t.Errorf("in the place of one that has left: %q", w.Outcome)
	}
	if !s.End(3e6, 1, 0) || len(s.List("").Pairs) != 1 {
		t.Errorf("what is left: %+v", s.List("").Pairs)
	}
}

// A snapshot that contradicts itself is refused, with the reason.
func TestImage_Damaged_IsRefused(t *testing.T) {
	pair := record.KeyPair{Key: "a", Version: 1}
	for text, im := range map[string]Image{
		"lease 7, which is not there": {Keys: []record.KeyPair{{Key: "a", Lease: 7}}},
		"is there twice":              {Keys: []record.KeyPair{pair, pair}},
		"in the place of change 5":    {Seq: 6, Changes: []record.KeyChange{{Seq: 4}, {Seq: 6}}},
		"more changes than were made": {Changes: []record.KeyChange{{}}},
	} {
		if s, err := im.Space(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, %v", text, s, err)
		}
	}
	if s, err := (&Image{}).Space(); err != nil || s.Seq() != 0 || len(s.List("").Pairs) != 0 {
		t.Errorf("of an earlier version: %v, %v", s, err)
	}
}

// A clone does not change with its store.
func TestClone_StoreChanges_StaysAsItWas(t *testing.T) {
	s := New()
	s.Grant(1, 1000)
	for i := range uint64(maxKept) {
		s.Write(2+i, &record.KeyWrite{Key: "a", Value: []byte("1"), Lease: 1})
	}
	c := s.Clone()
	s.Write(1e6, &record.KeyWrite{Key: "b", Value: []byte("2")}) // the oldest change that the clone has is forgotten in the store
	s.End(1e6+1, 1, 0)
	if p, _ := c.Get("a"); string(p.Value) != "1" || len(c.Leases()) != 1 {
		t.Errorf("the clone has %+v and %v", p, c.Leases())
	}
	if r, _ := c.Since("", 0); len(r.List) != maxAnswer || r.List[0].Seq != 1 || r.List[0].Key != "a" || string(r.List[0].Value) != "1" {
		t.Errorf("the clone's changes: %+v", r)
	}
}

// What is kept of the past is counted exactly while changes of different sizes come and go, and After has the latest.
func TestHistory_OldChangesGo_BytesAreThoseOfTheRest(t *testing.T) {
	s := New()
	for i := range uint64(maxKept + 500) {
		s.Write(i+1, &record.KeyWrite{Key: "a", Value: make([]byte, i%7*i%5000)})
		sum := 0
		for j := range s.past.kept {
			sum += changeSize(&s.past.kept[j])
		}
		if i%100 == 0 && s.past.bytes != sum {
			t.Fatalf("after %d changes: %d bytes are counted, and %d are there", i, s.past.bytes, sum)
		}
	}
	last := s.Seq()
	if list := s.After(last - 3); len(list) != 3 || list[0].Seq != last-2 || len(s.After(last)) != 0 || len(s.After(0)) != len(s.past.kept) {
		t.Errorf("after all but 3: %d changes, after all: %d, after none: %d of %d", len(list), len(s.After(last)), len(s.After(0)), len(s.past.kept))
	}
}

// A list may have as many bytes as one answer may hold, and as many keys, and not one more.
func TestList_JustLargeEnough_IsWhole(t *testing.T) {
	s, index := New(), uint64(0)
	put := func(key string, n int) {
		index++
		if w := s.Write(index, &record.KeyWrite{Key: key, Value: make([]byte, n)}); w.Outcome != record.KeyDone {
			t.Fatalf("key %q: %q", key, w.Outcome)
		}
	}
	const parts = record.MaxListBytes / record.MaxValueBytes
	for i := range parts {
		put(fmt.Sprintf("a/%04d", i), record.MaxValueBytes-6)
	}
	if r := s.List("a/"); r.Large || len(r.Pairs) != parts {
		t.Errorf("exactly what one answer may hold: %v, %d", r.Large, len(r.Pairs))
	}
	put("a/", 0)
	if r := s.List("a/"); !r.Large {
		t.Errorf("2 bytes more: %d pairs", len(r.Pairs))
	}
	for i := range record.MaxListKeys {
		put(fmt.Sprintf("b%05d", i), 0)
	}
	if r := s.List("b"); r.Large || len(r.Pairs) != record.MaxListKeys {
		t.Errorf("as many keys as one answer may hold: %v, %d", r.Large, len(r.Pairs))
	}
	put("b", 0)
	if r := s.List("b"); !r.Large {
		t.Errorf("one key more: %d pairs", len(r.Pairs))
	}
}
