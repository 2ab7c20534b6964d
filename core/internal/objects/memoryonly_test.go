package objects

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// inMemory returns a table that spills nothing, with one object that b has
// pinned and its owner a has let go of.
func inMemory(t *testing.T) (tb *Table, d *fakeDisk, a, b *proc) {
	tb, d = withDisk(16 * mib)
	tb.memoryOnly, tb.grace = true, memoryGrace
	a, b = &proc{}, &proc{}
	put(t, tb, a, owned(1, 1), 10*mib)
	tb.Pin(b, owned(1, 1), func(Place, uint64, error) {})
	tb.Free(a, owned(1, 1))
	return tb, d, a, b
}

func TestObjects_NothingIsSpilled_WaitsUntilOthersLetGo(t *testing.T) {
	tb, d, a, b := inMemory(t)
	m := put(t, tb, a, owned(1, 2), 10*mib)
	d.pass(memoryGrace / 2)
	if m.n != 0 || d.asked == 0 {
		t.Fatalf("%+v; %d processes were asked to let go", m, d.asked)
	}
	tb.Unpin(b, owned(1, 1))
	if m.n != 1 || m.err != nil {
		t.Errorf("%+v", m)
	}
}

func TestObjects_NothingIsSpilled_RefusesWhenNobodyLetsGo(t *testing.T) {
	tb, d, a, _ := inMemory(t)
	m := put(t, tb, a, owned(1, 2), 10*mib)
	small := put(t, tb, a, owned(1, 3), 2*mib) // there is room for this one
	for range 4 {
		d.pass(memoryGrace / 2)
	}
	if m.n != 1 || fault.CodeOf(m.err) != fault.StoreFull {
		t.Errorf("%+v", m)
	}
	if small.n != 1 || small.err != nil {
		t.Errorf("%+v", small)
	}
	if len(d.orders) > 0 || d.made > 0 {
		t.Errorf("%d orders to the disk, %d files", len(d.orders), d.made)
	}
	larger := put(t, tb, a, owned(1, 4), 17*mib)
	d.pass(time.Millisecond)
	if larger.n != 1 || fault.CodeOf(larger.err) != fault.StoreFull {
		t.Errorf("larger than the store: %+v", larger)
	}
}

// A session that spills nothing gives no orders to a disk.
func TestMemoryOnly_OrdersToADisk_AreImpossible(t *testing.T) {
	for name, order := range map[string]func(){
		"written":  func() { memoryOnly{}.write(nil) },
		"restores": func() { memoryOnly{}.restore(nil, Place{}) },
		"makes":    func() { memoryOnly{}.makeFile(nil) },
		"removes":  func() { memoryOnly{}.removeFile("") },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, name) {
					t.Errorf("the order gave %q, want %q in it", text, name)
				}
			}()
			order()
		}()
	}
}
