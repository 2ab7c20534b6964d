package raftlog

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// small makes segments so small that a test has several.
var small = Options{Log: quiet, SegmentSize: 1 << 10}

// open opens a directory and closes it at the end of the test.
func open(t testing.TB, dir string, o Options) *Dir {
	t.Helper()
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// closed closes a directory before the end of the test.
func closed(t testing.TB, d *Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// entryOf returns the entry of an index: everything in it follows from the index and a version.
func entryOf(index, version uint64) *raft.Log {
	r := rand.New(rand.NewPCG(index, version))
	data := make([]byte, r.IntN(150))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	e := &raft.Log{Index: index, Term: 1 + version, Type: raft.LogType(r.IntN(6)), Data: data}
	if r.IntN(3) == 0 {
		e.Extensions = []byte{byte(index), 1, 2}
	}
	if r.IntN(2) == 0 {
		e.AppendedAt = time.Unix(0, 1e18+int64(index))
	}
	return e
}

// entries returns the entries from first to last.
func entries(first, last, version uint64) (list []*raft.Log) {
	for i := first; i <= last; i++ {
		list = append(list, entryOf(i, version))
	}
	return list
}

func sameEntry(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && bytes.Equal(a.Data, b.Data) &&
		bytes.Equal(a.Extensions, b.Extensions) && a.AppendedAt.Equal(b.AppendedAt)
}

func store(t testing.TB, l raft.LogStore, list []*raft.Log) {
	t.Helper()
	if err := l.StoreLogs(list); err != nil {
		t.Fatal(err)
	}
}

// holds checks that the log has exactly the entries of want, which are in order.
func holds(l raft.LogStore, want []*raft.Log) error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if len(want) == 0 {
		if first != 0 || last != 0 {
			return fmt.Errorf("the log has entries %d to %d, want none", first, last)
		}
		return nil
	}
	if first != want[0].Index || last != want[len(want)-1].Index {
		return fmt.Errorf("the log has entries %d to %d, want %d to %d", first, last, want[0].Index, want[len(want)-1].Index)
	}
	for _, w := range want {
		var got raft.Log
		if err := l.GetLog(w.Index, &got); err != nil {
			return err
		}
		if !sameEntry(&got, w) {
			return fmt.Errorf("entry %d is %+v, want %+v", w.Index, got, w)
		}
	}
	for _, i := range []uint64{0, first - 1, last + 1} {
		if err := l.GetLog(i, new(raft.Log)); err != raft.ErrLogNotFound {
			return fmt.Errorf("entry %d: %v", i, err)
		}
	}
	return nil
}

// snap writes a snapshot of an index whose image is text.
func snap(t testing.TB, s raft.SnapshotStore, index uint64, text string) {
	t.Helper()
	k, err := s.Create(raft.SnapshotVersionMax, index, 2, raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "b"}}}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(k, text); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as raft and raftstate do
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// textLog returns a log that writes text.
func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
