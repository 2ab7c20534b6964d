package leases

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestAdjustWant_LargeArguments_OfTheOldestTaskAreNamed(t *testing.T) {
	p, h := newPool(t)
	k := p.ClassFor(&template{Name: "f"})
	k.Queue.Push(&task{large: [][]byte{{1}, {2}}})
	k.Queue.Push(&task{large: [][]byte{{3}}})
	p.AdjustWant(k)
	w, ok := h.pushed[len(h.pushed)-1].(wire.LeaseWant)
	if !ok || w.Want != 2 || len(w.Large) != 2 || w.Large[1][0] != 2 {
		t.Errorf("the daemon is told %+v", h.pushed[len(h.pushed)-1])
	}
}
