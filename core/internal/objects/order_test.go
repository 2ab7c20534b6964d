package objects

import (
	"testing"
)

// While nobody waits for room nothing is written to disk.
func TestObjects_Order_NobodyWaits_NothingIsWritten(t *testing.T) {
	tb, d := withDisk(64 * mib)
	c := &proc{}
	for n := range uint64(8) {
		put(t, tb, c, owned(1, n), mib)
	}
	d.settle()
	if tb.makeRoom(); len(d.orders) != 0 {
		t.Errorf("%d batches are written", len(d.orders))
	}
}
