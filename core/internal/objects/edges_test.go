package objects

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// idle puts objects of so many MiB, which nobody looks at.
func idle(t *testing.T, tb *Table, c *proc, first uint64, sizes ...uint64) {
	t.Helper()
	for i, n := range sizes {
		if m := put(t, tb, c, owned(1, first+uint64(i)), n*mib); m.n != 1 || m.err != nil {
			t.Fatalf("object %d of %d MiB: %+v", i, n, m)
		}
	}
}

// Small objects share a batch until it is as large as it has to be; an object
// that is larger than a batch may be has one to itself.
func TestObjects_Spill_BatchesOfTheOldestObjects(t *testing.T) {
	tb, d := withDisk(512 * mib)
	tb.batchBytes, tb.writeAheadFrom = 2*mib, 512*mib
	idle(t, tb, &proc{}, 0, 1, 1, 1, 100, 1)
	tb.spill(1)
	if len(d.orders) != 1 || len(tb.batches) != 1 {
		t.Fatalf("%d batches are written for one byte", len(tb.batches))
	}
	for b := range tb.batches {
		if len(b.objects) != 2 || b.objects[0].id != owned(1, 0) || b.objects[1].id != owned(1, 1) {
			t.Errorf("the batch has %d objects of %d bytes", len(b.objects), b.bytes)
		}
	}
	d.settle()
	tb.spill(50 * mib)
	if len(tb.batches) != 2 {
		t.Fatalf("%d batches are written, want one for the small object and one for the large one", len(tb.batches))
	}
	for b := range tb.batches {
		if len(b.objects) != 1 {
			t.Errorf("a batch has %d objects of %d bytes", len(b.objects), b.bytes)
		}
	}
	d.settle()
	if tb.clean.bytes != 103*mib || tb.dirty.bytes != mib {
		t.Errorf("%d MiB are on disk, too, and %d are not", tb.clean.bytes/mib, tb.dirty.bytes/mib)
	}
}

func TestObjects_Spill_NotWhereNothingMayBeWritten(t *testing.T) {
	tb, d := withDisk(64 * mib)
	idle(t, tb, &proc{}, 0, 1, 1)
	tb.memoryOnly = true
	if tb.spill(mib); len(d.orders) != 0 || tb.chooseWindow(&request{size: 32 * mib}) {
		t.Error("something is written in a session that keeps all in memory")
	}
	tb.memoryOnly, tb.retryAt = false, d.clock.Add(1)
	if tb.spill(mib); len(d.orders) != 0 {
		t.Error("something is written while the disks rest")
	}
	tb.retryAt = time.Time{}
	if tb.spill(0); len(d.orders) != 0 {
		t.Error("something is written for nothing")
	}
	tb.effects = nil
	if tb.chooseWindow(&request{size: 32 * mib}) || tb.dropHangingWindows() {
		t.Error("without a disk a range is cleared")
	}
}

// What is written ahead: what is above the threshold, less what can leave already,
// and only while something had to wait lately.
func TestObjects_WriteAhead_OnlyUnderPressureAndAboveTheThreshold(t *testing.T) {
	for what, x := range map[string]struct {
		before func(tb *Table, d *fakeDisk)
		want   uint64 // MiB that are written
	}{
		"pressure":                          {func(tb *Table, d *fakeDisk) { tb.pressed = d.clock }, 4},
		"pressure some time ago":            {func(tb *Table, d *fakeDisk) { tb.pressed = d.clock.Add(-pressureFor) }, 4},
		"pressure long ago":                 {func(tb *Table, d *fakeDisk) { tb.pressed = d.clock.Add(-pressureFor - 1) }, 0},
		"no pressure ever":                  {func(*Table, *fakeDisk) {}, 0},
		"just at the threshold":             {func(tb *Table, d *fakeDisk) { tb.pressed, tb.writeAheadFrom = d.clock, 8*mib }, 0},
		"one object could leave already":    {func(tb *Table, d *fakeDisk) { tb.spill(mib); d.settle(); tb.pressed = d.clock }, 3},
		"one object is being written":       {func(tb *Table, d *fakeDisk) { tb.pressed = d.clock; tb.spill(mib) }, 3},
		"more could leave than is too much": {func(tb *Table, d *fakeDisk) { tb.spill(6 * mib); d.settle(); tb.pressed = d.clock }, 0},
	} {
		tb, d := withDisk(16 * mib)
		tb.batchBytes = mib
		idle(t, tb, &proc{}, 0, 1, 1, 1, 1, 1, 1, 1, 1)
		tb.batchBytes, tb.writeAheadFrom = 1, 4*mib
		x.before(tb, d)
		n := len(d.orders)
		began := tb.dirty.bytes
		tb.writeAhead()
		if got := (began - tb.dirty.bytes) / mib; got != x.want {
			t.Errorf("%s: %d MiB are written in %d batches, want %d", what, got, len(d.orders)-n, x.want)
		}
	}
}

// The first request that waits has the table look again; later ones need not.
func TestObjects_Enqueue_OneTimerForAll(t *testing.T) {
	tb, d := withDisk(mib)
	a, b := &proc{}, &proc{}
	tb.pumping = true // only the queue is looked at
	for i, c := range []*proc{a, a, b} {
		tb.enqueue(&request{holder: c, id: owned(1, uint64(i)), size: mib})
	}
	if len(d.wakes) != 1 || !d.wakes[0].Equal(d.clock.Add(lookEvery)) {
		t.Errorf("the table wants to look at %v", d.wakes)
	}
	if len(tb.turns) != 2 || tb.waiting != 3 || !tb.pressed.Equal(d.clock) || !tb.changed {
		t.Errorf("%d processes in turn, %d requests, pressed at %v, changed %v", len(tb.turns), tb.waiting, tb.pressed, tb.changed)
	}
	if !tb.WaitsForRoom(a, owned(1, 1)) || tb.WaitsForRoom(a, owned(1, 2)) || tb.WaitsForRoom(&proc{}, owned(1, 1)) {
		t.Error("it confuses who waits for what")
	}
	first := tb.byHolder[a][0]
	tb.remove(first)
	tb.remove(first) // twice is no error
	if tb.waiting != 2 || len(tb.turns) != 2 || !first.dead || tb.WaitsForRoom(a, owned(1, 0)) {
		t.Errorf("%d requests of %d processes are left", tb.waiting, len(tb.turns))
	}
	tb.remove(tb.byHolder[a][0])
	if tb.waiting != 1 || len(tb.turns) != 1 || tb.turns[0] != b || len(tb.byHolder) != 1 {
		t.Errorf("%d requests of %v are left", tb.waiting, tb.turns)
	}
}

func TestObjects_Reuse_OfTheSameSize(t *testing.T) {
	tb, _ := withDisk(mib)
	c := &proc{}
	held(t, tb, c, 1, 10_000)
	if err := tb.Reuse(c, owned(1, 1), owned(1, 2), 10_000); err != nil {
		t.Error(err)
	}
	if err := tb.Reuse(c, owned(1, 2), owned(1, 3), 10); err == nil || !strings.Contains(err.Error(), owned(1, 3).String()) {
		t.Errorf("an object that is not written gives its place: %v", err)
	}
}

// An object that is moving, or that a range is cleared for, keeps its place.
func TestObjects_Reuse_NotWhatMoves(t *testing.T) {
	tb, _ := withDisk(mib)
	c := &proc{}
	held(t, tb, c, 1, 10_000)
	o := tb.table[owned(1, 1)]
	for what, change := range map[string]func(on bool){
		"is being written to disk": func(on bool) { o.moving = map[bool]motion{true: spilling}[on] },
		"lies in a cleared range":  func(on bool) { o.window = map[bool]*window{true: {}}[on] },
		"is not in the arena":      func(on bool) { o.inArena = !on },
	} {
		change(true)
		if tb.Reuse(c, owned(1, 1), owned(1, 2), 10) == nil {
			t.Errorf("an object that %s gives its place", what)
		}
		change(false)
	}
	if err := tb.Reuse(c, owned(1, 1), owned(1, 2), 10); err != nil {
		t.Error(err)
	}
}

func TestObjects_Where_OneWordForEachPlace(t *testing.T) {
	for want, o := range map[string]object{
		"creating":  {inArena: true},
		"restoring": {sealed: true, moving: restoring},
		"arena":     {sealed: true, inArena: true, moving: spilling},
		"file":      {sealed: true, Place: Place{Path: "f"}},
		"spilled":   {sealed: true, Place: Place{Path: "f", copy: true}},
	} {
		if got := o.where(); got != want {
			t.Errorf("it is said to be in %q, want %q", got, want)
		}
	}
	if o := (object{sealed: true}); o.where() != "spilled" || o.readable() {
		t.Error("an object that is in no memory is said to be in some")
	}
}

func TestObjects_Usage_InWords(t *testing.T) {
	tb, _ := withDisk(16 * mib)
	tb.used = 5
	tb.table = map[ids.Object]*object{owned(1, 1): {}, owned(1, 2): {}, owned(1, 3): {}, owned(1, 4): {}}
	tb.onDisk, tb.files, tb.pinned = 1, 1, 2
	if got, want := tb.usage(), "5 of 16777216 bytes are used by 2 objects (2 of them pinned by a value in use)"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestObjects_WaitsFor_InWords(t *testing.T) {
	tb, d := withDisk(16 * mib)
	says := func(want string) {
		t.Helper()
		if got := tb.waitsFor(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	says("nothing can be spilled")
	tb.batches = map[*batch]struct{}{{since: d.clock}: {}, {since: d.clock.Add(1 - hangsAfter)}: {}}
	says("2 writes to disk are on their way")
	tb.diskErr = errors.New("it burns")
	says("the disk fails: it burns")
	tb.batches[&batch{since: d.clock.Add(-hangsAfter)}] = struct{}{}
	tb.batches[&batch{since: d.clock.Add(-2 * hangsAfter)}] = struct{}{}
	says("2 writes to disk hang, the oldest for 6s")
}

// Programs are warned after a while, and once a minute.
func TestObjects_Warn_WhoWaitsLong(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &proc{}
	tb.pumping = true
	began := d.clock
	tb.enqueue(&request{holder: a, id: owned(1, 1), size: 3})
	tb.enqueue(&request{holder: a, id: owned(1, 2), size: 4, restore: &object{}})
	for _, x := range []struct {
		at   time.Duration
		said int // in all
	}{{0, 0}, {warnAfter - 1, 0}, {warnAfter, 2}, {warnAfter + warnAgain - 1, 2}, {warnAfter + warnAgain, 4}} {
		d.clock = began.Add(x.at)
		if tb.warn(); len(d.said) != x.said {
			t.Errorf("after %v: %d warnings, want %d", x.at, len(d.said), x.said)
		}
	}
	for i, want := range []string{"a new object of 3 bytes", "an object that was spilled of 4 bytes"} {
		if !strings.HasPrefix(d.said[i], want+" has waited for more than 10s for room in the object store: ") {
			t.Errorf("it says %q", d.said[i])
		}
	}
}

// A file for an object cannot be made: a disk that hangs is tried again after a
// pause, one that is full ends the request with what to do, and another trouble,
// too.
func TestObjects_FileCannotBeMade_WhoAskedIsTold(t *testing.T) {
	for what, x := range map[string]struct {
		err  error
		code fault.Code
		says string
	}{
		"full":    {spill.ErrFull, fault.OutOfDisk, "object_spilling_directory"},
		"no room": {unix.ENOSPC, fault.OutOfDisk, "object_spilling_directory"},
		"broken":  {unix.EIO, fault.StoreFull, "input/output error"},
	} {
		tb, d := withDisk(mib)
		d.fail = func() error { return x.err }
		m := put(t, tb, &proc{}, owned(1, 1), 8*mib)
		d.settle()
		if m.n != 1 || fault.CodeOf(m.err) != x.code || !strings.Contains(m.err.Error(), x.says) || tb.waiting != 0 {
			t.Errorf("%s: it got %+v", what, m)
		}
	}
	tb, d := withDisk(mib)
	d.fail = func() error { return spill.ErrStuck }
	m := put(t, tb, &proc{}, owned(1, 1), 8*mib)
	d.do(0)
	if m.n != 0 || !errors.Is(tb.diskErr, spill.ErrStuck) || len(d.orders) != 0 {
		t.Fatalf("a disk that hangs: it got %+v, %d orders", m, len(d.orders))
	}
	d.clock = d.clock.Add(retryAfter - 1)
	if tb.tick(); len(d.orders) != 0 {
		t.Error("a disk that hangs is tried again too early")
	}
	d.fail = nil
	d.clock = d.clock.Add(1)
	tb.tick()
	d.settle()
	if m.n != 1 || m.err != nil || m.at.Path == "" {
		t.Errorf("it got %+v", m)
	}
}

// A file that is made for a process that has ended is removed.
func TestObjects_FileIsMadeForAProcessThatEnded_IsRemoved(t *testing.T) {
	for _, broken := range []bool{false, true} {
		tb, d := withDisk(mib)
		c := &proc{}
		put(t, tb, c, owned(1, 1), 8*mib)
		c.gone = true
		tb.DropHolder(c, owned(1, 1).Owner())
		if broken {
			d.fail = func() error { return unix.EIO }
		}
		d.settle()
		if len(d.files) != 0 || len(tb.table) != 0 || tb.waiting != 0 {
			t.Errorf("left: files %v, %d objects", d.files, len(tb.table))
		}
	}
}

// Two processes wait for room for the same object, since a task was tried again. The
// room of the one that comes second goes back.
func TestObjects_ObjectWasWrittenMeanwhile_RoomGoesBack(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a, b := &proc{}, &proc{}
	held(t, tb, a, 1, 4*mib)
	first, second := put(t, tb, a, owned(1, 2), mib), put(t, tb, b, owned(1, 2), mib)
	if tb.waiting != 2 {
		t.Fatalf("%d requests wait", tb.waiting)
	}
	tb.Free(a, owned(1, 1))
	tb.Unpin(a, owned(1, 1))
	d.settle()
	if first.n != 1 || first.err != nil || second.n != 1 || fault.CodeOf(second.err) != fault.AlreadyExists {
		t.Errorf("the first got %+v, the second %+v", first, second)
	}
	if tb.used != mib || len(tb.table) != 1 {
		t.Errorf("%d bytes of %d objects", tb.used, len(tb.table))
	}
	if m := put(t, tb, a, owned(1, 3), 3*mib); m.n != 1 || m.err != nil || m.at.Path != "" {
		t.Errorf("the room did not go back: %+v", m)
	}
}

func TestObjects_Missing_WhatIsNoIdIsLeftOut(t *testing.T) {
	tb, _ := withDisk(4 * mib)
	c := &proc{}
	held(t, tb, c, 1, 10)
	held(t, tb, c, 2, 10)
	tb.Free(c, owned(1, 2)) // it is still pinned
	here, freed, none := owned(1, 1), owned(1, 2), owned(1, 3)
	got := tb.Missing([][]byte{here[:], []byte("short"), freed[:], none[:]})
	if len(got) != 2 || string(got[0]) != string(freed[:]) || string(got[1]) != string(none[:]) {
		t.Errorf("missing: %q", got)
	}
	if list := tb.onlyOnDisk([][]byte{[]byte("short"), here[:]}); len(list) != 0 {
		t.Errorf("only on disk: %+v", list)
	}
}
