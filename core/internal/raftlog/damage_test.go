package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// written is a state directory with several segments, whose batches are known.
type written struct {
	dir     string
	want    []*raft.Log
	batches []uint64 // first index of each batch
	last    string   // the newest segment
	end     int      // of what is written in it
}

func writeLog(t *testing.T) *written {
	w := &written{dir: t.TempDir()}
	d := open(t, w.dir, small)
	for next := uint64(1); len(w.batches) < 24; {
		list := entries(next, next+next%3, 0)
		w.batches = append(w.batches, next)
		store(t, d.log, list)
		w.want = append(w.want, list...)
		next += uint64(len(list))
	}
	if err := d.stable.SetUint64([]byte(currentTerm), 7); err != nil {
		t.Fatal(err)
	}
	s := d.log.segments[len(d.log.segments)-1]
	w.last, w.end = s.path, int(s.end)
	if len(d.log.segments) < 3 || s.first >= w.batches[len(w.batches)-2] {
		t.Fatalf("%d segments, the last one begins with entry %d, and the batches with %v", len(d.log.segments), s.first, w.batches)
	}
	closed(t, d)
	return w
}

// outcome opens the directory and says what came of it: "all", "refused", or "cut" when a last part that begins with batch
// is gone. Everything else is an error.
func (w *written) outcome(batch uint64, file string) (string, error) {
	d, err := Open(w.dir, small)
	if errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), file) && strings.Contains(err.Error(), "at byte ") {
		return "refused", nil
	}
	if err != nil {
		return "", fmt.Errorf("refused with a text that does not say enough: %w", err)
	}
	defer func() { _ = d.Close() }()
	if holds(d.log, w.want) == nil {
		return "all", nil
	}
	last := d.log.last()
	if last+1 < batch {
		return "", fmt.Errorf("entries after %d are gone, and the last batch begins with %d", last, batch)
	}
	if err := holds(d.log, w.want[:last]); err != nil {
		return "", err
	}
	// What was cut off does not come back, and the log goes on.
	if err := d.log.StoreLogs(entries(last+1, last+1, 9)); err != nil {
		return "", err
	}
	if err := d.Close(); err != nil {
		return "", err
	}
	again, err := Open(w.dir, small)
	if err != nil {
		return "", fmt.Errorf("open once more: %w", err)
	}
	defer func() { _ = again.Close() }()
	return "cut", holds(again.log, append(w.want[:last:last], entryOf(last+1, 9)))
}

// hurt opens the directory once for each damage to a file and counts what came of it.
func (w *written) hurt(t *testing.T, path string, cases int, damage func(i int, b []byte) []byte, batch uint64) map[string]int {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"*", "log/*"} {
		files, _ := filepath.Glob(filepath.Join(w.dir, pattern))
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil {
				all[f] = b
			}
		}
	}
	restore := func() {
		for f, b := range all {
			if now, err := os.ReadFile(f); err != nil || !bytes.Equal(now, b) {
				if err := os.WriteFile(f, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if f := filepath.Join(w.dir, logName, markName); all[f] == nil {
			_ = os.Remove(f)
		}
		now, _ := segmentsIn(filepath.Join(w.dir, logName))
		for _, first := range now {
			if f := segmentPath(filepath.Join(w.dir, logName), first); all[f] == nil {
				_ = os.Remove(f)
			}
		}
	}
	counts := map[string]int{}
	for i := range cases {
		if err := os.WriteFile(path, damage(i, bytes.Clone(all[path])), 0o600); err != nil {
			t.Fatal(err)
		}
		what, err := w.outcome(batch, filepath.Base(path))
		if err != nil {
			t.Fatalf("damage %d of %s: %v", i, path, err)
		}
		counts[what]++
		restore()
	}
	return counts
}

func flip(mask byte) func(i int, b []byte) []byte {
	return func(i int, b []byte) []byte { b[i] ^= mask; return b }
}

func shorten(i int, b []byte) []byte { return b[:i] }

// blank makes a range of bytes zero, as if it had never reached the disk. The range lies in one record.
func blank(i int, b []byte) []byte {
	i = i / alignment * alignment
	clear(b[i : i+alignment])
	return b
}

// The process was killed: the mark is there. Nothing that was acknowledged may go, so every damage to it is refused.
func TestOpen_LastSegmentDamaged_IsRefused(t *testing.T) {
	w := writeLog(t)
	never := w.want[len(w.want)-1].Index + 1
	for name, damage := range map[string]func(int, []byte) []byte{"flipped": flip(0xff), "a bit": flip(0x10), "shorter": shorten, "blank": blank} {
		cases, stride := w.end, 1
		if name != "flipped" {
			stride = 5
			cases /= stride
		}
		counts := w.hurt(t, w.last, cases, func(i int, b []byte) []byte { return damage(i*stride, b) }, never)
		if counts["cut"] > 0 || counts["refused"] < cases*9/10 {
			t.Errorf("%s: %v", name, counts)
		}
	}
	// Behind the last record nothing was acknowledged: garbage there is cut off.
	behind := w.hurt(t, w.last, 64, func(i int, b []byte) []byte { b[w.end+i] = 0xaa; return b }, never)
	if behind["refused"] > 0 {
		t.Errorf("garbage behind the end: %v", behind)
	}
}

// The power was cut, and the mark did not reach the disk: only the last batch may go, because its write may have been under way.
func TestOpen_LastSegmentDamagedWithoutMark_OnlyTheLastBatchGoes(t *testing.T) {
	w := writeLog(t)
	last := w.batches[len(w.batches)-1]
	if err := os.Remove(filepath.Join(w.dir, logName, markName)); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(int, []byte) []byte{"flipped": flip(0xff), "a bit": flip(0x10), "blank": blank} {
		const stride = 3
		counts := w.hurt(t, w.last, w.end/stride, func(i int, b []byte) []byte { return damage(i*stride, b) }, last)
		if counts["cut"] == 0 || counts["refused"] == 0 {
			t.Errorf("%s: %v", name, counts)
		}
	}
}

func TestOpen_OlderSegmentDamaged_IsRefused(t *testing.T) {
	for _, marked := range []bool{true, false} {
		w := writeLog(t)
		if !marked {
			if err := os.Remove(filepath.Join(w.dir, logName, markName)); err != nil {
				t.Fatal(err)
			}
		}
		first := segmentPath(filepath.Join(w.dir, logName), 1)
		info, err := os.Stat(first)
		if err != nil {
			t.Fatal(err)
		}
		for name, damage := range map[string]func(int, []byte) []byte{"flipped": flip(0xff), "blank": blank} {
			const stride = 3
			cases := int(info.Size()) / stride
			counts := w.hurt(t, first, cases, func(i int, b []byte) []byte { return damage(i*stride, b) }, 1<<60)
			if counts["cut"] > 0 || counts["refused"] < cases*8/10 {
				t.Errorf("%s, marked %v: %v", name, marked, counts)
			}
		}
		if err := os.Remove(first); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(w.dir, small); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first segment is missing: %v", err)
		}
	}
}

func TestOpen_TermDamaged_IsRefused(t *testing.T) {
	w := writeLog(t)
	path := filepath.Join(w.dir, stableName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func(int, []byte) []byte{"flipped": flip(0xff), "a bit": flip(2), "shorter": shorten} {
		if counts := w.hurt(t, path, len(b), damage, 1<<60); counts["refused"] != len(b) {
			t.Errorf("%s: %v of %d", what, counts, len(b))
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.dir, small); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is missing: %v", err)
	}
}
