package objects

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// A process ends, or its program is interrupted, while a range is being cleared for
// its large request. The part of the range that is clear goes at once to another
// process that waits, without a look at the clock or an answer of the disk.
func TestWindow_RequestEnds_OthersGetTheClearPart(t *testing.T) {
	for name, end := range map[string]func(tb *Table, c *proc){
		"the process ends": func(tb *Table, c *proc) {
			c.gone = true
			tb.DropHolder(c, ids.Owner{2})
		},
		"the program is interrupted": func(tb *Table, c *proc) { tb.Free(c, owned(2, 1)) },
	} {
		tb, d := withDisk(16 * mib)
		a, b, c := &proc{}, &proc{}, &proc{}
		for n := range uint64(12) {
			put(t, tb, a, owned(1, n), mib)
		}
		large := put(t, tb, b, owned(2, 1), 8*mib)
		if large.n != 0 || tb.byHolder[b][0].window == nil {
			t.Fatalf("%s: no range is cleared for the large request: %+v", name, large)
		}
		small := put(t, tb, c, owned(3, 1), mib)
		if small.n != 0 {
			t.Fatalf("%s: the small request got a part of the range", name)
		}
		if end(tb, b); small.n != 1 || small.err != nil {
			t.Errorf("%s: the small request got %+v", name, small)
		}
		d.settle()
		check(t, tb)
		checkLists(t, tb)
	}
}
