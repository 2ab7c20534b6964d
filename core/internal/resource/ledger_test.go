package resource

import (
	"reflect"
	"strings"
	"testing"
)

func newLedger(t testing.TB, totals Set, devices map[string][]string) *Ledger {
	t.Helper()
	l, err := NewLedger(totals, devices)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func acquire(t testing.TB, l *Ledger, need Set, wantIDs ...string) *Allocation {
	t.Helper()
	a, ok := l.Acquire(need)
	if !ok {
		t.Fatalf("%s does not fit free %s", need, l.Free())
	}
	if got := a.DeviceIDs()["GPU"]; !reflect.DeepEqual(append([]string{}, got...), append([]string{}, wantIDs...)) {
		t.Fatalf("%s got GPUs %v, want %v", need, got, wantIDs)
	}
	return a
}

func gpu(units Amount) Set { return Set{"GPU": units} }

func TestLedger_HalfGPUActors_PackOneDeviceBeforeTheNext(t *testing.T) {
	l := newLedger(t, nil, map[string][]string{"GPU": {"0", "1", "2"}})
	acquire(t, l, gpu(5000), "0")
	acquire(t, l, gpu(5000), "0")
	acquire(t, l, gpu(5000), "1")
	acquire(t, l, gpu(10000), "2")
	if _, ok := l.Acquire(gpu(10000)); ok {
		t.Error("a whole GPU out of a half")
	}
	acquire(t, l, gpu(2500), "1")
}

func TestLedger_Fraction_TightestDeviceAndLowestOfEquals(t *testing.T) {
	l := newLedger(t, nil, map[string][]string{"GPU": {"a", "b", "c"}})
	a := acquire(t, l, gpu(2500), "a")
	b := acquire(t, l, gpu(8000), "b")
	acquire(t, l, gpu(2000), "b")
	acquire(t, l, gpu(2500), "a")
	l.Release(a)
	l.Release(b)
	acquire(t, l, gpu(7500), "a")
	acquire(t, l, gpu(10000), "c")
}

func TestLedger_WholeRequest_OnlyWholeFreeDevices(t *testing.T) {
	l := newLedger(t, Set{"CPU": FromInt(4)}, map[string][]string{"GPU": {"1", "3", "5", "7"}})
	half := acquire(t, l, gpu(5000), "1")
	acquire(t, l, Set{"GPU": 20000, "CPU": 10000}, "3", "5")
	if _, ok := l.Acquire(gpu(20000)); ok {
		t.Error("two of one free device and a half")
	}
	l.Release(half)
	two := acquire(t, l, gpu(20000), "1", "7")
	if want := []Share{{ID: "1", Amount: Unit}, {ID: "7", Amount: Unit}}; !reflect.DeepEqual(two.Shares()["GPU"], want) {
		t.Errorf("shares %v, want %v", two.Shares(), want)
	}
	if l.Free().String() != `{"CPU": 3}` {
		t.Errorf("free %s", l.Free())
	}
}

func TestLedger_SeveralResources_AllOrNothing(t *testing.T) {
	l := newLedger(t, Set{"CPU": FromInt(1), "x": 5000}, map[string][]string{"GPU": {"0"}, "NPU": {"0"}})
	for _, need := range []Set{
		{"GPU": 10000, "CPU": 20000}, {"GPU": 10000, "x": 5001}, {"NPU": 5000, "GPU": 15000}, {"GPU": 10000, "y": 1},
	} {
		if _, ok := l.Acquire(need); ok || l.Fits(need) {
			t.Errorf("%s fits", need)
		}
	}
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("a failed Acquire kept something: free %s of %s", l.Free(), l.Totals())
	}
}

func TestLedger_BlockedTask_CPUComesBackAndOverSubscribes(t *testing.T) {
	l := newLedger(t, Set{"CPU": FromInt(1)}, map[string][]string{"GPU": {"0"}})
	first := acquire(t, l, Set{"CPU": 10000, "GPU": 10000}, "0")
	l.BlockCPU(first)
	l.BlockCPU(first)
	if !first.Blocked() || l.Free()["CPU"] != 10000 || l.Fits(gpu(1)) {
		t.Fatalf("blocked: free %s; only CPU may come back", l.Free())
	}
	second := acquire(t, l, Set{"CPU": 10000})
	l.UnblockCPU(first)
	l.UnblockCPU(first)
	if l.Free()["CPU"] != -10000 {
		t.Fatalf("free %s, want CPU -1", l.Free())
	}
	acquire(t, l, Set{"CPU": 0})
	if l.Fits(Set{"CPU": 1}) {
		t.Error("CPU fits an overdrawn balance")
	}
	l.Release(second)
	if l.Fits(Set{"CPU": 1}) {
		t.Error("CPU fits although all is used")
	}
	l.BlockCPU(first)
	l.Release(first)
	l.Release(first)
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("free %s, want %s", l.Free(), l.Totals())
	}
	l.UnblockCPU(first)
	l.BlockCPU(first)
	l.Release(nil)
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("a released allocation moved the balance: %s", l.Free())
	}
}

func TestLedger_CanEver_SaysWhatIsShort(t *testing.T) {
	l := newLedger(t, Set{"CPU": FromInt(2)}, map[string][]string{"GPU": {"0", "1"}, "TPU": nil})
	acquire(t, l, Set{"CPU": FromInt(2)})
	for _, c := range []struct {
		need Set
		why  string
	}{
		{Set{"CPU": FromInt(2), "GPU": 5000}, ""},
		{gpu(30000), "GPU: asked 3, the cluster has at most 2"},
		{gpu(15000), "GPU: asked 1.5, more than 1 must be a whole number"},
		{Set{"TPU": 10000}, "TPU: asked 1, the cluster has none (it has GPU: 2)"},
	} {
		if why, ok := l.CanEver(c.need); why != c.why || ok != (c.why == "") {
			t.Errorf("CanEver(%s) = %q, %v; want %q", c.need, why, ok, c.why)
		}
	}
}

func TestNewLedger_Contradictions_Error(t *testing.T) {
	for want, args := range map[string]struct {
		totals  Set
		devices map[string][]string
	}{
		"but it has 2 devices": {Set{"GPU": FromInt(3)}, map[string][]string{"GPU": {"0", "1"}}},
		`device "0" twice`:     {nil, map[string][]string{"GPU": {"0", "0"}}},
		"negative":             {Set{"CPU": -1}, nil},
	} {
		if _, err := NewLedger(args.totals, args.devices); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
}

func BenchmarkLedger_AcquireRelease(b *testing.B) {
	l := newLedger(b, Set{"CPU": FromInt(64)}, map[string][]string{"GPU": {"0", "1", "2", "3", "4", "5", "6", "7"}})
	for name, need := range map[string]Set{"cpu": {"CPU": Unit}, "gpu": {"CPU": Unit, "GPU": 5000}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a, _ := l.Acquire(need)
				l.Release(a)
			}
		})
	}
}
