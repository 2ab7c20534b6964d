package linkmsg

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// A stock with devices and the bundles of placement groups arrives as it is, and a ledger of it gives the same.
func TestStock_WithBundles_Arrives(t *testing.T) {
	l, err := resource.NewLedger(resource.Set{"CPU": resource.FromInt(4)}, map[string][]string{"GPU": {"0", "1"}})
	if err == nil {
		err = l.SetGPUMemory(map[string]int64{"0": 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, need := range []resource.Set{{"CPU": resource.Unit, "GPU": resource.Unit / 2}, {"CPU": resource.Unit}} {
		id := resource.BundleID{Group: "0a", Index: i}
		if !l.Prepare(id, need) {
			t.Fatal(i)
		}
		l.Commit(id)
	}
	l.Acquire(resource.InBundle(resource.Set{"GPU": resource.Unit / 4}, resource.BundleID{Group: "0a", Index: 0}))
	sent := StockOf(l.Stock())
	b, err := Encode("a stock", &sent)
	if err != nil {
		t.Fatal(err)
	}
	var got Stock
	if err := Decode("a stock", b, MaxStock, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Stock(); !s.Equal(l.Stock()) {
		t.Errorf("arrived is %+v, sent was %+v", s, l.Stock())
	}
	again, err := resource.Restore(got.Stock())
	if err != nil || !again.Free().Equal(l.Free()) {
		t.Errorf("a ledger of it has %s free, want %s: %v", again.Free(), l.Free(), err)
	}
}
