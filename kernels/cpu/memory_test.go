package cpu

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func alloc(t *testing.T, size int) *memory {
	t.Helper()
	m, err := device{}.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*memory)
}

func TestAlloc_EverySize_AlignedAndWritable(t *testing.T) {
	for _, size := range []int{1, 63, 64, 65, 4096, maxSmall, maxSmall + 1, 3 << 20, 2 * hugePage, 5*hugePage + 1} {
		m := alloc(t, size)
		if uintptr(m.Ptr())%align != 0 || m.Size() != size || m.room < size {
			t.Errorf("%d bytes: at %p, size %d, room %d", size, m.Ptr(), m.Size(), m.room)
		}
		bytes := unsafe.Slice((*byte)(m.Ptr()), size)
		bytes[0], bytes[size-1] = 1, 1
		for range 2 { // the second does nothing
			if err := m.Free(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAlloc_LargeBlockFreed_IsUsedAgain(t *testing.T) {
	if exact {
		t.Skip("nothing is kept")
	}
	kept.release()
	a := alloc(t, 64<<20)
	p := a.Ptr()
	_ = a.Free()
	b := alloc(t, 63<<20)
	if b.Ptr() != p {
		t.Errorf("a block of 63 MiB is at %p, not where 64 MiB were freed, %p", b.Ptr(), p)
	}
	if c := alloc(t, 64<<20); c.Ptr() == p {
		t.Error("one block was given twice")
	} else {
		_ = c.Free()
	}
	_ = b.Free()
	if kept.bytes < 127<<20 || kept.bytes > keepLarge {
		t.Errorf("%d bytes are kept", kept.bytes)
	}
	kept.used = time.Now().Add(-keepFor)
	kept.expire()
	if kept.bytes != 0 || len(kept.large) != 0 {
		t.Errorf("%d bytes are kept after their time", kept.bytes)
	}
}

func TestAlloc_ManyLargeBlocks_KeepsUpToALimit(t *testing.T) {
	if exact {
		t.Skip("nothing is kept")
	}
	kept.release()
	var all []*memory
	for range 10 {
		all = append(all, alloc(t, 100<<20)) // never touched
	}
	for _, m := range all {
		_ = m.Free()
		if kept.bytes > keepLarge {
			t.Fatalf("%d bytes are kept", kept.bytes)
		}
	}
	kept.release()
}

func TestAlloc_MoreThanThereIs_OutOfMemory(t *testing.T) {
	_, total := available()
	for _, size := range []int{1 << 50, math.MaxInt, int(total) + 1} {
		var want *backend.OutOfMemoryError
		if _, err := (device{}).Alloc(size); !errors.As(err, &want) || want.Asked != int64(size) || want.Total != total {
			t.Errorf("%d bytes: %v, want a *OutOfMemoryError", size, err)
		}
	}
}

func TestAlloc_ManyGoroutines_NoBlockTwice(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 300 {
				m, err := device{}.Alloc(64 << (k % 16))
				if err != nil {
					t.Error(err)
					return
				}
				own := (*int)(m.Ptr())
				*own = i
				if *own != i {
					t.Error("another has the same block")
				}
				_ = m.Free()
			}
		})
	}
	all.Wait()
}

func TestInstructions_BestFirst_BaseAlways(t *testing.T) {
	sets := Instructions()
	if sets[len(sets)-1] != "base" || Use("none") {
		t.Errorf("instruction sets %q", sets)
	}
	for _, name := range sets {
		if !Use(name) {
			t.Errorf("%s cannot be used", name)
		}
	}
	Use(sets[0])
}

func TestOpen_SecondDevice_Unsupported(t *testing.T) {
	var want *backend.UnsupportedError
	if _, err := Backend().Open(1); !errors.As(err, &want) {
		t.Errorf("open: %v", err)
	}
	if _, err := (device{}).Export(nil); !errors.As(err, &want) {
		t.Errorf("export: %v", err)
	}
	if _, err := (device{}).Import(nil, 1); !errors.As(err, &want) {
		t.Errorf("import: %v", err)
	}
}

// TestStep_Layout_IsTheCs holds what Map relies on.
func TestStep_Layout_IsTheCs(t *testing.T) {
	if got, want := stepLayout(); got != want {
		t.Errorf("backend.Step has offsets and size %v, the C %v", got, want)
	}
}
