package resource

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

const groupA, groupB = "0a0a", "0b0b"

// bundled returns a ledger with 8 CPUs and 4 GPUs of which two bundles of group A were set aside: 0 with 2 CPUs and 2 GPUs, and 1 with a CPU and half a GPU.
func bundled(t *testing.T) *Ledger {
	t.Helper()
	l := newLedger(t, Set{CPU: FromInt(8)}, map[string][]string{GPU: ids(4)})
	for i, need := range []Set{{CPU: FromInt(2), GPU: FromInt(2)}, {CPU: FromInt(1), GPU: Unit / 2}} {
		if !l.Prepare(BundleID{groupA, i}, need) {
			t.Fatal(i)
		}
	}
	return l
}

func in(index int, need Set) Set { return InBundle(need, BundleID{groupA, index}) }

func TestBundles_GiveNothingBeforeTheyAreOpen(t *testing.T) {
	l := bundled(t)
	if l.Fits(in(0, Set{CPU: Unit})) || l.Could(in(0, Set{CPU: Unit})) {
		t.Error("a bundle that is only prepared gives something")
	}
	if free := l.Free(); free[CPU] != FromInt(5) || free[GPU] != FromInt(1)+Unit/2 {
		t.Errorf("free: %s", free)
	}
	l.Commit(BundleID{groupA, 0})
	l.Commit(BundleID{groupA, 0}) // again
	if !l.Fits(in(0, Set{CPU: FromInt(2), GPU: FromInt(2)})) || l.Fits(in(0, Set{CPU: FromInt(3)})) || l.Fits(in(1, nil)) {
		t.Error("an open bundle gives what it has, and a closed one nothing")
	}
}

func TestBundles_WorkGetsTheirDevices(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 0})
	l.Commit(BundleID{groupA, 1})
	whole := acquire(t, l, in(0, Set{GPU: FromInt(2)}), "0", "1")
	if l.Fits(in(0, Set{GPU: Unit})) || !l.Fits(in(0, Set{CPU: FromInt(2)})) {
		t.Error("bundle 0 has no GPU left, and both CPUs")
	}
	half := acquire(t, l, in(1, Set{GPU: Unit / 4}), "2")
	if l.Fits(in(1, Set{GPU: Unit / 2})) || !l.Fits(in(1, Set{GPU: Unit / 4})) || l.Could(in(1, Set{GPU: Unit})) {
		t.Error("bundle 1 has a quarter of a GPU left, and never more than half a one")
	}
	if got := whole.Resources(); !got.Equal(Set{GPU: FromInt(2), Marker: markerEach}) {
		t.Errorf("a task in a bundle holds %s", got)
	}
	if id, ok := half.Bundle(); !ok || id != (BundleID{groupA, 1}) {
		t.Errorf("it is held of %v", id)
	}
	other := acquire(t, l, gpu(Unit), "3")
	l.Release(whole)
	l.Release(half)
	l.Release(other)
	l.Release(half) // once more
	for name, free := range l.Free() {
		if got := l.FreeOf(name); got != free {
			t.Errorf("of %s %s is free, and %s by name", name, free, got)
		}
	}
	for _, name := range []string{"x", "CPU_group_7_" + groupA, "CPU_group_", "_group_0_" + groupA} {
		if got := l.FreeOf(name); got != 0 {
			t.Errorf("of %s, which is not there, %s is free", name, got)
		}
	}
	if free := l.Free(); free["GPU_group_0_"+groupA] != FromInt(2) || free["GPU_group_1_"+groupA] != Unit/2 || free["GPU_group_"+groupA] != FromInt(2)+Unit/2 || free[GPU] != FromInt(1)+Unit/2 {
		t.Errorf("free: %s", free)
	}
}

func TestBundles_AnyOfTheGroup_FirstThatHasAll(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 1})
	l.Commit(BundleID{groupA, 0})
	any := func(need Set) Set { return in(AnyBundle, need) }
	a := acquire(t, l, any(Set{CPU: Unit, GPU: Unit / 2}), "0")
	if id, _ := a.Bundle(); id.Index != 0 {
		t.Errorf("the first bundle that has it is 0, not %d", id.Index)
	}
	b := acquire(t, l, any(Set{GPU: Unit / 2}), "0")
	c := acquire(t, l, any(Set{GPU: Unit}), "1")
	d := acquire(t, l, any(Set{CPU: Unit, GPU: Unit / 2}), "2")
	if l.Fits(any(Set{CPU: FromInt(2)})) || !l.Could(any(Set{CPU: FromInt(2)})) {
		t.Error("two bundles have a CPU each, and no task gets CPUs of two bundles")
	}
	for _, x := range []*Allocation{a, b, c, d} {
		l.Release(x)
	}
}

func TestBundles_Dropped_FreeWhenNothingOfThemIsHeld(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 0})
	a := acquire(t, l, in(0, Set{GPU: Unit}), "0")
	l.BlockCPU(a)
	l.Drop(BundleID{groupA, 0})
	l.Drop(BundleID{groupA, 1})
	l.Drop(BundleID{groupA, 7}) // there is none
	if free := l.Free(); free[CPU] != FromInt(6) || free[GPU] != FromInt(2) {
		t.Errorf("while a worker holds a GPU of it: %s", free)
	}
	if has, _ := l.HasBundle(BundleID{groupA, 0}); has || l.Fits(in(0, nil)) || len(l.Bundles()) != 0 {
		t.Error("a bundle that was dropped is still there")
	}
	l.UnblockCPU(a)
	l.Release(a)
	if free := l.Free(); !free.Equal(Set{CPU: FromInt(8), GPU: FromInt(4)}) {
		t.Errorf("afterwards: %s", free)
	}
}

func TestBundles_BlockedTask_ItsCPUGoesToTheBundle(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 1})
	a := acquire(t, l, in(1, Set{CPU: Unit}))
	if frees := a.Frees(); frees["CPU_group_1_"+groupA] != Unit || frees["CPU_group_"+groupA] != Unit || frees[CPU] != 0 {
		t.Errorf("its end frees %s", frees)
	}
	l.BlockCPU(a)
	if frees := a.Frees(); frees["CPU_group_1_"+groupA] != 0 {
		t.Errorf("the CPU of a blocked task is free already: %s", frees)
	}
	b := acquire(t, l, in(1, Set{CPU: Unit}))
	l.UnblockCPU(a)
	if free := l.Free(); free["CPU_group_1_"+groupA] != -Unit || free[CPU] != FromInt(5) {
		t.Errorf("free: %s", free)
	}
	l.Release(a)
	l.Release(b)
}

func TestBundles_PreparedTwice_OnceIsTaken(t *testing.T) {
	l := newLedger(t, Set{CPU: FromInt(3)}, nil)
	id := BundleID{groupA, 0}
	for range 2 {
		if !l.Prepare(id, Set{CPU: FromInt(2)}) {
			t.Error("the same bundle is refused")
		}
	}
	if l.Prepare(id, Set{CPU: FromInt(1)}) || l.Prepare(BundleID{groupB, 0}, Set{CPU: FromInt(2)}) {
		t.Error("another need, and more than is free")
	}
}

func TestBundles_MemoryOfGPUs_LearnedLater(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 1})
	a := acquire(t, l, in(1, Set{GPU: Unit / 4}), "2")
	if err := l.SetGPUMemory(map[string]int64{"0": 1000, "1": 1000, "2": 1000, "3": 1000}); err != nil {
		t.Fatal(err)
	}
	if free := l.Free(); free["gpu_memory_group_1_"+groupA] != FromInt(250) || free[GPUMemory] != FromInt(1500) {
		t.Errorf("free: %s", free)
	}
	if l.Fits(in(1, Set{GPUMemory: FromInt(251)})) || !l.Could(in(1, Set{GPUMemory: FromInt(500)})) || l.Could(in(1, Set{GPUMemory: FromInt(501)})) {
		t.Error("half a device of 1000 bytes has 500, of which 250 are free")
	}
	l.Release(a)
	b := acquire(t, l, in(1, Set{GPUMemory: FromInt(500)}), "2")
	l.Release(b)
}

// Whoever holds a part of a bundle can ask whether the bundle was dropped, and whoever waits for one whether it is open.
func TestBundles_DroppedAndOpen_AreTold(t *testing.T) {
	l := bundled(t)
	zero, any := BundleID{groupA, 0}, BundleID{groupA, AnyBundle}
	if l.HasOpen(zero) || l.HasOpen(any) {
		t.Error("a bundle is open that is only prepared")
	}
	if has, open := l.HasBundle(zero); !has || open {
		t.Errorf("a bundle that is prepared: %v, %v", has, open)
	}
	l.Commit(zero)
	if !l.HasOpen(zero) || !l.HasOpen(any) || l.HasOpen(BundleID{groupA, 1}) || l.HasOpen(BundleID{groupB, AnyBundle}) {
		t.Error("bundle 0 is open, and no other")
	}
	if list := l.Bundles(); len(list) != 2 || list[0].ID != zero || !list[0].Open || list[1].Open || !list[1].Need.Equal(Set{CPU: Unit, GPU: Unit / 2}) {
		t.Errorf("the bundles are %v", list)
	}
	inside, outside := acquire(t, l, in(0, Set{CPU: Unit})), acquire(t, l, Set{CPU: Unit})
	if id, of := outside.Bundle(); of {
		t.Errorf("what is held of the node is of %s", id)
	}
	var none *Allocation
	if inside.Dropped() || outside.Dropped() || none.Dropped() {
		t.Error("nothing was dropped yet")
	}
	l.Drop(zero)
	l.Drop(BundleID{groupA, 1})
	if !inside.Dropped() || outside.Dropped() || l.HasOpen(zero) || l.HasOpen(any) {
		t.Error("bundle 0 was dropped, and what is held of the node itself was not")
	}
	if !l.Prepare(zero, Set{CPU: Unit}) { // as for a later group with this name
		t.Fatal("no room")
	}
	l.Commit(zero)
	if !inside.Dropped() {
		t.Error("what was held of the earlier bundle is of the later one")
	}
	l.Release(inside)
	l.Release(outside)
	l.Drop(zero)
	if free := l.Free(); !free.Equal(Set{CPU: FromInt(8), GPU: FromInt(4)}) {
		t.Errorf("free: %s", free)
	}
}

// Whether several bundles fit is not a question of sums: parts of devices do not add up. The look leaves no trace.
func TestLedger_FitsAll_AsPrepareDoes(t *testing.T) {
	parts := func(list ...Amount) (needs []Set) {
		for _, a := range list {
			needs = append(needs, Set{GPU: a * Unit / 10})
		}
		return needs
	}
	for _, c := range []struct {
		needs []Set
		fits  bool
	}{
		{parts(7, 8), true}, {parts(7, 8, 3), true}, {parts(7, 8, 4), false}, {parts(10, 10), true}, {parts(5, 10, 5), true}, {parts(3, 5, 7, 5), false}, {parts(7, 5, 5, 3), true},
		{[]Set{{CPU: FromInt(4)}, {CPU: FromInt(4)}}, true}, {[]Set{{CPU: FromInt(4)}, {CPU: FromInt(5)}}, false}, {nil, true},
	} {
		l := newLedger(t, Set{CPU: FromInt(8)}, map[string][]string{GPU: ids(2)})
		stock, changes := l.Stock(), l.Changes()
		if got := l.FitsAll(c.needs); got != c.fits {
			t.Errorf("%v fit: %v", c.needs, got)
		}
		if !l.Stock().Equal(stock) || l.Changes() != changes {
			t.Errorf("a look for %v has changed something", c.needs)
		}
		all := true
		for i, need := range c.needs {
			all = all && l.Prepare(BundleID{groupA, i}, need)
		}
		if all != c.fits {
			t.Errorf("%v are set aside: %v", c.needs, all)
		}
	}
}

// Of an emptied ledger only the bundles are taken that are open, not what is used in them or beside them.
func TestLedger_Emptied_HasItsOpenBundlesOnly(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 0})
	acquire(t, l, in(0, Set{GPU: Unit}), "0")
	acquire(t, l, Set{CPU: FromInt(2), GPU: Unit}, "3")
	want := Set{CPU: FromInt(6), GPU: FromInt(2)} // of bundle 1 nobody knows whether it will be open
	if got := l.Emptied().Free(); !got.Equal(want) {
		t.Errorf("free: %s, want %s", got, want)
	}
	copied, err := Restore(l.Stock())
	if err != nil {
		t.Fatal(err)
	}
	if got := copied.Emptied().Free(); !got.Equal(want) {
		t.Errorf("free of a copy: %s, want %s", got, want)
	}
	if got := l.Idle().Free(); !got.Equal(Set{CPU: FromInt(8), GPU: FromInt(4)}) {
		t.Errorf("free when it is idle: %s", got)
	}
}

// A stock that no node has sent is refused.
func TestRestore_BundlesThatCannotBe_AreRefused(t *testing.T) {
	good := BundleStock{ID: BundleID{groupA, 0}, Totals: Set{CPU: Unit, Marker: markerTotal}, Free: Set{CPU: Unit, Marker: markerTotal}, Devices: map[string][]DeviceStock{GPU: {{Free: Unit / 2, Most: Unit / 2}}}}
	with := func(change func(*BundleStock)) BundleStock {
		b := BundleStock{ID: good.ID, Totals: good.Totals.Clone(), Free: good.Free.Clone(), Devices: map[string][]DeviceStock{GPU: {good.Devices[GPU][0]}}}
		change(&b)
		return b
	}
	for what, list := range map[string][]BundleStock{
		"one twice":              {good, good},
		"any of a group":         {with(func(b *BundleStock) { b.ID.Index = AnyBundle })},
		"no group":               {with(func(b *BundleStock) { b.ID.Group = "" })},
		"more free than it has":  {with(func(b *BundleStock) { b.Free[CPU]++ })},
		"less than nothing":      {with(func(b *BundleStock) { b.Free[Marker] = -1 })},
		"free what it lacks":     {with(func(b *BundleStock) { b.Free["x"] = 1 })},
		"a negative total":       {with(func(b *BundleStock) { b.Totals[CPU], b.Free[CPU] = -1, -1 })},
		"more of a device":       {with(func(b *BundleStock) { b.Devices[GPU][0].Free++ })},
		"more than a device":     {with(func(b *BundleStock) { b.Devices[GPU][0].Most = Unit + 1 })},
		"memory of another kind": {with(func(b *BundleStock) { b.Devices["NPU"] = []DeviceStock{{Bytes: 1}} })},
	} {
		if _, err := Restore(Stock{Totals: Set{CPU: Unit}, Free: Set{}, Bundles: list}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	l, err := Restore(Stock{Totals: Set{CPU: Unit}, Free: Set{}, Bundles: []BundleStock{good}})
	if err != nil || !l.Fits(in(0, Set{CPU: Unit, GPU: Unit / 2})) {
		t.Errorf("a good one: %v", err)
	}
}

func TestInBundle_ComesBack(t *testing.T) {
	need := Set{CPU: Unit, "a_group_b": Unit, "zero": 0}
	for _, id := range []BundleID{{groupA, 0}, {groupA, 12}, {groupB, AnyBundle}} {
		got, back, ok := Outside(InBundle(need, id))
		want := Set{CPU: Unit, "a_group_b": Unit, Marker: markerEach}
		if !ok || back != id || !got.Equal(want) {
			t.Errorf("%s: %s, %v, %v", id, got, back, ok)
		}
	}
	if _, _, ok := Outside(Set{CPU: Unit, "bundle": Unit}); ok {
		t.Error("a set without a bundle asks nothing of one")
	}
	for _, wrong := range []string{"bundle_group_x_ab", "bundle_group_-1_ab", "bundle_group_1_", "bundle_group_"} {
		if _, id, ok := Outside(Set{wrong: 1}); ok {
			t.Errorf("%s is of %s", wrong, id)
		}
	}
	if s := InBundle(Set{"x": 1}, BundleID{groupA, 0}); s["x_group_0_"+groupA] != 1 || len(s) != 2 {
		t.Errorf("the smallest part of x: %s", s)
	}
	for name, want := range map[string]bool{"bundle": true, "CPU_group_0_ab": true, "bundle_group_ab": true, "CPU": false, "bundles": false, "group": false} {
		if IsBundleName(name) != want {
			t.Errorf("%s is a name of bundles: %v", name, !want)
		}
	}
}

func TestLedger_CanEver_SaysWhatABundleLacks(t *testing.T) {
	l := bundled(t)
	l.Commit(BundleID{groupA, 1})
	for _, c := range []struct {
		need Set
		says string
	}{
		{in(1, Set{CPU: FromInt(2)}), "CPU: asked 2, bundle 1 of placement group 0a0a has at most 1"},
		{in(0, Set{CPU: Unit}), "bundle 0 of placement group 0a0a is not on this node"},
		{in(AnyBundle, Set{"x": Unit}), "x: asked 1, bundle 1 of placement group 0a0a has none (it has GPU: 0.5)"},
		{in(1, Set{CPU: Unit}), ""},
	} {
		if why, ok := l.CanEver(c.need); why != c.says || ok != (c.says == "") {
			t.Errorf("%s: %q", c.need, why)
		}
	}
}

// TestBundles_RandomSequences_NothingIsLostOrGivenTwice holds, after each step, that what is held, set aside and free adds up, that a copy by its stock gives the
// same answers, and that all is free in the end.
func TestBundles_RandomSequences_NothingIsLostOrGivenTwice(t *testing.T) {
	for seed := range uint64(100) {
		if err := randomBundles(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func randomBundles(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 7))
	l, err := NewLedger(Set{CPU: FromInt(6)}, map[string][]string{GPU: {"0", "1", "2"}})
	if err != nil {
		return err
	}
	if seed%2 == 0 {
		if err := l.SetGPUMemory(map[string]int64{"0": 100, "1": 77}); err != nil {
			return err
		}
	}
	whole := l.Free()
	need := func() Set {
		return Set{CPU: Amount(r.IntN(3)) * Unit, GPU: []Amount{0, 0, Unit / 2, Unit / 4, Unit, 2 * Unit}[r.IntN(6)]}
	}
	anyID := func() BundleID { return BundleID{[]string{groupA, groupB}[r.IntN(2)], r.IntN(4) - 1} }
	var held []*Allocation
	for range 200 {
		switch r.IntN(8) {
		case 0, 1:
			if id := anyID(); id.Index >= 0 {
				l.Prepare(id, need())
			}
		case 2:
			if id := anyID(); id.Index >= 0 {
				l.Commit(id)
			}
		case 3:
			if id := anyID(); id.Index >= 0 && r.IntN(2) == 0 {
				l.Drop(id)
			}
		case 4, 5:
			asks := need()
			if r.IntN(3) > 0 {
				asks = InBundle(asks, anyID())
			}
			fits := l.Fits(asks)
			a, ok := l.Acquire(asks)
			if ok != fits {
				return fmt.Errorf("%s fits: %v, and is given: %v", asks, fits, ok)
			}
			if ok {
				held = append(held, a)
			}
		case 6:
			if len(held) > 0 {
				i := r.IntN(len(held))
				l.Release(held[i])
				held = append(held[:i], held[i+1:]...)
			}
		case 7:
			if len(held) > 0 {
				if a := held[r.IntN(len(held))]; a.Blocked() {
					l.UnblockCPU(a)
				} else {
					l.BlockCPU(a)
				}
			}
		}
		if err := addsUp(l, held); err != nil {
			return err
		}
		copied, err := Restore(l.Stock())
		if err != nil {
			return err
		}
		if !copied.Stock().Equal(l.Stock()) || !copied.Free().Equal(l.Free()) || !copied.Totals().Equal(l.Totals()) {
			return fmt.Errorf("the copy has %s free of %s, the ledger %s of %s", copied.Free(), copied.Totals(), l.Free(), l.Totals())
		}
		if asks := InBundle(need(), anyID()); copied.Fits(asks) != l.Fits(asks) || copied.Could(asks) != l.Could(asks) {
			return fmt.Errorf("the copy answers otherwise about %s", asks)
		}
	}
	for _, a := range held {
		l.Release(a)
	}
	for _, b := range l.Bundles() {
		l.Drop(b.ID)
	}
	if !l.Free().Equal(whole) {
		return fmt.Errorf("in the end %s is free of %s", l.Free(), whole)
	}
	return nil
}

// addsUp compares each device with what is held of it.
func addsUp(l *Ledger, held []*Allocation) error {
	used := map[string]Amount{}
	for _, a := range held {
		for _, s := range a.Shares()[GPU] {
			used[s.ID] += s.Amount
		}
	}
	for id, n := range used {
		if n > Unit {
			return fmt.Errorf("%s of device %s are given out", n, id)
		}
	}
	for _, b := range l.bundles {
		if b.inner == nil {
			continue
		}
		for name, n := range b.inner.free {
			if n > b.inner.totals[name] || n < 0 && name != CPU {
				return fmt.Errorf("%s of %s are free in %s, which has %s", n, name, b.id, b.inner.totals[name])
			}
		}
	}
	return nil
}
