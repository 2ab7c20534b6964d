package objects

import (
	"testing"
	"time"
)

// Batches that hang do not count as under way, to the moment, so that others
// may be begun in their place.
func TestObjects_Underway_CountsWhatMakesProgress(t *testing.T) {
	tb, d := withDisk(16 * mib)
	fresh, hanging := &batch{since: d.now()}, &batch{since: d.now().Add(-hangsAfter)}
	tb.batches = map[*batch]struct{}{fresh: {}, hanging: {}, {since: d.now().Add(-hangsAfter + 1)}: {}}
	if n := tb.underway(); n != 2 {
		t.Fatalf("%d batches are under way, want 2", n)
	}
	d.clock = d.clock.Add(time.Nanosecond)
	if n := tb.underway(); n != 1 {
		t.Fatalf("%d batches are under way, want 1", n)
	}
}

func TestObjects_CanWrite_BoundedAndAfterThePause(t *testing.T) {
	tb, d := withDisk(16 * mib)
	tb.batches = map[*batch]struct{}{}
	for len(tb.batches) < maxBatches {
		if !tb.canWrite() {
			t.Fatalf("no batch may be begun beside %d", len(tb.batches))
		}
		tb.batches[&batch{since: d.now()}] = struct{}{}
	}
	if tb.canWrite() {
		t.Errorf("a batch may be begun beside %d", maxBatches)
	}
	clear(tb.batches)
	tb.retryAt = d.now().Add(time.Nanosecond)
	if tb.canWrite() {
		t.Error("a batch may be begun before the disk has rested")
	}
	if tb.retryAt = d.now(); !tb.canWrite() {
		t.Error("no batch may be begun after the disk has rested")
	}
	if tb.effects = nil; tb.canWrite() {
		t.Error("without a disk a batch may be begun")
	}
}

// What batches will free counts, except what is pinned or claimed.
func TestObjects_Coming_WhatBatchesWillFree(t *testing.T) {
	tb, _ := withDisk(16 * mib)
	tb.batches = map[*batch]struct{}{
		{objects: []*object{{size: 1}, {size: 2, pins: 1}, {size: 4, window: new(window)}}}: {},
		{objects: []*object{{size: 8}}}: {},
	}
	if got := tb.coming(); got != 9 {
		t.Errorf("%d bytes are coming, want 9", got)
	}
}
