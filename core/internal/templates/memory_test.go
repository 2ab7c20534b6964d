package templates

import (
	"math"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

const mib = int64(1<<20) * int64(resource.Unit)

func TestDoubled_OfWhatWasAskedOrHeld(t *testing.T) {
	for _, c := range []struct {
		asked int64
		held  uint64
		want  int64
	}{
		{100 * mib, 900 << 20, 200 * mib}, // what was stated counts
		{0, 300 << 20, 1024 * mib},
		{0, 512 << 20, 1024 * mib},
		{0, 512<<20 + 1, 2048 * mib},
		{0, 0, 2 * mib},
		{math.MaxInt64, 0, math.MaxInt64 - 1},
	} {
		if got := Doubled(c.asked, c.held); got != c.want {
			t.Errorf("asked %d, held %d: %d, want %d", c.asked, c.held, got, c.want)
		}
	}
	if Doubled(0, math.MaxUint64) <= 0 {
		t.Error("an overflow")
	}
}

// The template of a retry with more memory has no number, no class and no past, and leaves the first one as it was.
func TestWithMemory_BeginsWithoutAPast(t *testing.T) {
	k := new(class)
	tm := &Template[class]{
		Name: "f", ID: 3, Class: k, Resources: map[string]int64{"CPU": 1}, Open: 2, finished: 5, failed: 6, recipes: 7, retired: true, Larger: new(Template[class]),
		Fallback: []*Template[class]{{Name: "small"}, {Resources: map[string]int64{MemoryName: 900 * mib}}},
	}
	x := tm.WithMemory(600 * mib)
	if x.Name != "f" || x.Class != nil || x.Open != 0 || x.finished != 0 || x.failed != 0 || x.recipes != 0 || x.retired || x.Larger != nil {
		t.Errorf("the retry runs as %+v", x)
	}
	if x.Resources[MemoryName] != 600*mib || x.Resources["CPU"] != 1 || x.Fallback[0].Resources[MemoryName] != 600*mib || x.Fallback[1].Resources[MemoryName] != 900*mib {
		t.Errorf("it asks for %v, or else %v or %v", x.Resources, x.Fallback[0].Resources, x.Fallback[1].Resources)
	}
	if _, asks := tm.Resources[MemoryName]; asks || tm.Fallback[0].Resources != nil || tm.Class != k {
		t.Errorf("the first template has changed: %+v", tm)
	}
}
