package raftlog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func sized(index uint64, bytes int) *raft.Log {
	return &raft.Log{Index: index, Term: 1, Data: make([]byte, bytes), AppendedAt: time.Unix(1, 0)}
}

// BenchmarkStoreLogs measures commits, each with its fsync, as the time of a median one and of the slowest of a hundred.
func BenchmarkStoreLogs(b *testing.B) {
	for _, bytes := range []int{300, 4096} {
		for _, batch := range []uint64{1, 64} {
			b.Run(fmt.Sprintf("%d bytes, %d at once", bytes, batch), func(b *testing.B) {
				d := open(b, b.TempDir(), Options{Log: quiet})
				var took []time.Duration
				next := uint64(1)
				for b.Loop() {
					var list []*raft.Log
					for i := range batch {
						list = append(list, sized(next+i, bytes))
					}
					next += batch
					begun := time.Now()
					store(b, d.log, list)
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/p50")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
			})
		}
	}
}

// BenchmarkOpen measures how long it takes to open, and so to check, 100,000 entries.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	d := open(b, dir, Options{Log: quiet})
	for next := uint64(1); next <= 100_000; next += 1000 {
		var list []*raft.Log
		for i := range uint64(1000) {
			list = append(list, sized(next+i, 300))
		}
		store(b, d.log, list)
	}
	if err := d.stable.SetUint64([]byte(currentTerm), 1); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		closed(b, d)
		d = open(b, dir, Options{Log: quiet})
	}
	var bytes int64
	for _, s := range d.log.segments {
		bytes += s.size
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
}
