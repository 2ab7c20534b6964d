package memory

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func TestMemoryLog_DeletesAtBothEnds(t *testing.T) {
	s := NewLog()
	span := func(first, last uint64) {
		t.Helper()
		f, _ := s.FirstIndex()
		l, _ := s.LastIndex()
		if f != first || l != last {
			t.Errorf("got %d to %d, want %d to %d", f, l, first, last)
		}
	}
	store := func(from, to uint64) {
		t.Helper()
		for i := from; i <= to; i++ {
			if err := s.StoreLog(&raft.Log{Index: i, Term: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(from, to uint64) {
		t.Helper()
		if err := s.DeleteRange(from, to); err != nil {
			t.Fatal(err)
		}
	}
	span(0, 0)
	store(1, 10)
	span(1, 10)
	remove(1, 4)
	span(5, 10)
	remove(9, 10)
	span(5, 8)
	remove(1, 4) // gone already
	span(5, 8)
	var l raft.Log
	if err := s.GetLog(5, &l); err != nil || l.Index != 5 {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, i := range []uint64{0, 4, 9} {
		if err := s.GetLog(i, &l); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("entry %d: got %v", i, err)
		}
	}
	if err := s.DeleteRange(6, 7); err == nil {
		t.Error("entries in the middle are deleted")
	}
	if err := s.StoreLog(&raft.Log{Index: 12}); err == nil {
		t.Error("a gap is stored")
	}
	remove(1, 100)
	span(0, 0)
	store(42, 43)
	span(42, 43)
}

func TestMemorySnapshots_HalfWritten_IsNotSeen(t *testing.T) {
	s := &Snapshots{}
	write := func(index uint64, text string) raft.SnapshotSink {
		t.Helper()
		sink, err := s.Create(1, index, 1, raft.Configuration{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sink.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return sink
	}
	if err := write(1, "first").Close(); err != nil {
		t.Fatal(err)
	}
	write(2, "half")
	if err := write(3, "cancelled").Cancel(); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Index != 1 || list[0].Size != 5 {
		t.Fatalf("got %+v, %v", list, err)
	}
	_, r, err := s.Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "first" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, _, err := s.Open("other"); err == nil {
		t.Error("an unknown snapshot opens")
	}
}

// A log that is asked to delete entries from its middle names them: both ends are meant.
func TestMemoryLog_DeleteRange_InTheMiddle_NamesBothEnds(t *testing.T) {
	var m Log
	for i := uint64(1); i <= 9; i++ {
		if err := m.StoreLog(&raft.Log{Index: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.DeleteRange(3, 5); err == nil || !strings.Contains(err.Error(), "entries 3 to 5: in the middle of 1 to 9") {
		t.Errorf("got %v", err)
	}
}
