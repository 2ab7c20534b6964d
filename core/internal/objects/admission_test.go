package objects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
)

// TestObjects_DiskHangs_WhatFitsGoesOn: one that waits says why, and goes on
// when the disk does.
func TestObjects_DiskHangs_WhatFitsGoesOn(t *testing.T) {
	tb, d := withDisk(16 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(15) {
		put(t, tb, a, owned(1, n), mib)
	}
	big := put(t, tb, a, owned(1, 20), 4*mib)
	stuck := d.orders
	d.orders = nil // they hang
	d.pass(hangsAfter)
	for n := range uint64(20) {
		if m := put(t, tb, b, owned(2, n), mib/2); m.n != 1 || m.err != nil {
			t.Fatalf("object %d: %+v", n, m)
		}
		tb.Free(b, owned(2, n))
		d.pass(time.Second)
	}
	if big.n != 0 || len(d.said) == 0 || !strings.Contains(d.said[0], "hang") || !strings.Contains(d.said[0], "4194304 bytes") {
		t.Fatalf("%+v said %q", big, d.said)
	}
	d.fail = func() error { return fmt.Errorf("a directory: %w", spill.ErrStuck) }
	for range 10 {
		d.pass(time.Second)
		for len(d.orders) > 0 {
			d.do(0)
		}
	}
	if big.n != 0 {
		t.Fatalf("a disk that hangs is no reason to fail: %v", big.err)
	}
	d.fail = nil
	d.orders = append(stuck, d.orders...)
	d.settle()
	if big.n != 1 || big.err != nil {
		t.Errorf("%+v", big)
	}
}

// TestObjects_LargeAndSmall_NobodyStarves: small objects that come and go keep
// the arena in pieces, and a large one gets its room all the same.
func TestObjects_LargeAndSmall_NobodyStarves(t *testing.T) {
	tb, d := withDisk(64 * mib)
	a, b := &proc{}, &proc{}
	n := uint64(0)
	small := func() *made { n++; return put(t, tb, b, owned(2, n), mib) }
	for range 64 {
		small()
	}
	large := put(t, tb, a, owned(1, 1), 20*mib)
	served := 0
	for range 200 {
		m := small()
		if len(d.orders) > 0 {
			d.do(0)
		}
		served += m.n
		if large.n > 0 {
			break
		}
	}
	if large.n != 1 || large.err != nil || large.at.Path != "" {
		t.Fatalf("%+v after %d small ones", large, served)
	}
	d.settle()
	if tb.waiting != 0 {
		t.Error("small ones wait")
	}
}

// TestObjects_Creators_TakeTurns: one that asks for very much does not make the
// others wait behind it.
func TestObjects_Creators_TakeTurns(t *testing.T) {
	tb, d := withDisk(32 * mib)
	greedy := &proc{}
	for n := range uint64(32) {
		put(t, tb, greedy, owned(1, n), mib)
	}
	var many []*made
	for n := range uint64(200) {
		many = append(many, put(t, tb, greedy, owned(1, 100+n), mib))
	}
	other := put(t, tb, &proc{}, owned(2, 1), mib)
	for other.n == 0 && len(d.orders) > 0 {
		d.do(0)
	}
	before := 0
	for _, m := range many {
		before += m.n
	}
	if other.n != 1 || before > 40 {
		t.Errorf("%d requests of another creator went before", before)
	}
}

func TestObjects_CreatorDies_WhileItWaits(t *testing.T) {
	tb, d := withDisk(32 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(32) {
		put(t, tb, a, owned(1, n), mib)
	}
	claims, small, huge := put(t, tb, b, owned(2, 1), 16*mib), put(t, tb, b, owned(2, 2), mib), put(t, tb, b, owned(2, 3), 64*mib)
	b.gone = true
	tb.DropHolder(b, ids.Owner{2})
	d.settle()
	if claims.n+small.n+huge.n != 0 || tb.waiting != 0 || len(d.files) != 0 || len(tb.byHolder) != 0 {
		t.Errorf("answered %d %d %d; %d wait, files %v", claims.n, small.n, huge.n, tb.waiting, d.files)
	}
	check(t, tb)
	if m := put(t, tb, a, owned(1, 99), 24*mib); m.err != nil {
		t.Error(m.err)
	}
	d.settle()
	for n := range uint64(100) {
		tb.Free(a, owned(1, n))
	}
	if s := tb.space.(*store.Arena).Stats(); s.Used != 0 {
		t.Errorf("%d bytes are still taken", s.Used)
	}
}
