package resource

import (
	"strings"
	"testing"
)

// The smallest amounts count like all others: a ten-thousandth of a device, of
// a byte or of anything else.
func TestLedger_SmallestAmounts(t *testing.T) {
	l := withMemory(t, 0, 4)
	a := acquire(t, l, Set{GPUMemory: 1}, "1") // the device whose memory is not known gives none
	if l.Free()[GPUMemory] != FromInt(4)-1 || a.Shares()[GPU][0].Bytes != 1 {
		t.Errorf("free %s, shares %v", l.Free(), a.Shares())
	}
	b := acquire(t, l, gpu(1), "1")
	acquire(t, l, gpu(2*Unit-Unit), "0")
	l.Release(a)
	l.Release(b)
	if got := l.Weigh(Set{GPUMemory: 1})[GPU]; got != 1 {
		t.Errorf("the smallest part of a byte weighs %s of a device", got)
	}
	tiny := withMemory(t, 1)
	if got := tiny.Weigh(bytesOf(1))[GPU]; got != Unit {
		t.Errorf("the only byte of a device weighs %s of it", got)
	}
	if err := tiny.SetGPUMemory(map[string]int64{"0": 2}); err == nil || !strings.Contains(err.Error(), "known already: 1 bytes") {
		t.Errorf("known memory may be changed: %v", err)
	}
	if err := tiny.SetGPUMemory(map[string]int64{"0": 1}); err != nil {
		t.Errorf("known memory may not be told again: %v", err)
	}
	if _, ok := newLedger(t, nil, nil).CanEver(Set{GPUMemory: 1}); ok {
		t.Error("a part of a byte of no device")
	}
	if _, ok := withMemory(t, 0).CanEver(Set{GPUMemory: 1}); ok {
		t.Error("a part of a byte of a device whose memory is not known")
	}
	if !withMemory(t, 1).Fits(Set{GPUMemory: 0, GPU: 0, CPU: 0}) {
		t.Error("nothing does not fit")
	}
}

// Memory that is told while parts of a device are given out: each keeps its
// part, on its own device, and what is told later counts from then on.
func TestLedger_SetGPUMemory_WhilePartsAreHeld(t *testing.T) {
	l := newLedger(t, Set{CPU: Unit}, map[string][]string{GPU: {"0", "1", "2"}, "NPU": {"0"}})
	quarter, half := acquire(t, l, gpu(2500), "0"), acquire(t, l, gpu(8000), "1")
	npu := acquire(t, l, Set{"NPU": 5000})
	if l.LargestGPU() != 0 {
		t.Errorf("the largest device has %d bytes before any is known", l.LargestGPU())
	}
	if err := l.SetGPUMemory(map[string]int64{"0": 1000}); err != nil {
		t.Fatal(err)
	}
	if free := l.Free(); free[GPUMemory] != FromInt(750) || l.Totals()[GPUMemory] != FromInt(1000) || free[GPU] != 7500+2000+Unit {
		t.Errorf("free %s of %s", free, l.Totals())
	}
	if s := quarter.Shares()[GPU][0]; s.Amount != 2500 || s.Bytes != 250 {
		t.Errorf("a quarter is %+v", s)
	}
	if s := half.Shares()[GPU][0]; s.Amount != 8000 || s.Bytes != 0 {
		t.Errorf("a part of a device whose memory is not known is %+v", s)
	}
	if err := l.SetGPUMemory(map[string]int64{"0": 1000, "1": 100}); err != nil {
		t.Fatal(err)
	}
	if free := l.Free(); free[GPUMemory] != FromInt(770) || l.Totals()[GPUMemory] != FromInt(1100) || l.LargestGPU() != 1000 {
		t.Errorf("free %s of %s, the largest has %d bytes", free, l.Totals(), l.LargestGPU())
	}
	for _, a := range []*Allocation{quarter, half, npu} {
		l.Release(a)
	}
	if !l.Free().Equal(l.Totals()) {
		t.Errorf("free %s of %s", l.Free(), l.Totals())
	}
}

// A ledger that knows of no memory does not speak of any.
func TestLedger_Free_NamesMemoryOnlyWhereItIsKnown(t *testing.T) {
	l := withMemory(t, 0)
	acquire(t, l, gpu(1), "0")
	if _, named := l.Free()[GPUMemory]; named {
		t.Errorf("free %v", l.Free())
	}
	l = withMemory(t, 5)
	acquire(t, l, gpu(Unit), "0")
	if free, named := l.Free()[GPUMemory]; !named || free != 0 {
		t.Errorf("free %v", l.Free())
	}
}

// Both reasons are told: what is short, and what cannot be counted so.
func TestLedger_CanEver_TellsBothReasons(t *testing.T) {
	l := withMemory(t, 40*gib)
	why, ok := l.CanEver(Set{CPU: FromInt(65), GPU: 15000, GPUMemory: FromInt(gib)})
	want := "CPU: asked 65, the cluster has at most 64; GPU: asked 1.5, the cluster has at most 1; GPU: asked 1.5, more than 1 must be a whole number"
	if ok || why != want {
		t.Errorf("got %q, want %q", why, want)
	}
}

// A total of nothing is no total, and one that devices repeat is right.
func TestNewLedger_Totals(t *testing.T) {
	l := newLedger(t, Set{"none": 0, "x": 1, GPU: Unit}, map[string][]string{GPU: {"7"}, "NPU": nil})
	if len(l.Totals()) != 2 || l.Totals()["x"] != 1 || l.Totals()[GPU] != Unit {
		t.Errorf("totals %v", l.Totals())
	}
	if free := l.Free(); len(free) != 2 {
		t.Errorf("free %v", free)
	}
}
