package objects

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/store"
)

func TestObjects_CreatorStopsWaiting_NothingIsHeldForIt(t *testing.T) {
	tb, d := withDisk(32 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(32) {
		put(t, tb, a, owned(1, n), mib)
	}
	large, huge := put(t, tb, b, owned(2, 1), 16*mib), put(t, tb, b, owned(2, 2), 64*mib)
	behind := put(t, tb, b, owned(2, 3), mib)
	tb.Free(b, owned(2, 1))
	tb.Free(b, owned(2, 2))
	for _, m := range []*made{large, huge} {
		if m.n != 1 || fault.CodeOf(m.err) != fault.BadRequest {
			t.Fatalf("answered %d times with %v", m.n, m.err)
		}
	}
	d.settle()
	if large.n+huge.n != 2 || behind.n != 1 || behind.err != nil || tb.waiting != 0 || len(d.files) != 0 {
		t.Errorf("answered %d and %d times, the one behind %v; %d wait, files %v", large.n, huge.n, behind.err, tb.waiting, d.files)
	}
	check(t, tb)
	for n := range uint64(32) {
		tb.Free(a, owned(1, n))
	}
	tb.Free(b, owned(2, 3))
	if s := tb.space.(*store.Arena).Stats(); s.Used != 0 {
		t.Errorf("%d bytes are still taken", s.Used)
	}
}
