package client

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// half is what the program's side has of a batch, in memory of the test's.
type half struct {
	c      *Client
	number uint64
	dead   []uint64
	told   uint32
	left   int
	freed  int
}

// takeAll imports a table as the program does.
func takeAll(t *testing.T, c *Client, table []byte, n int) *half {
	t.Helper()
	h := &half{c: c, dead: make([]uint64, (n+63)/64), left: n}
	number, err := c.ImportAll(table, 0, refs.Batch{Dead: h.dead, Told: &h.told, Free: func() { h.freed++ }})
	if err != nil {
		t.Fatal(err)
	}
	h.number = number
	return h
}

// letGo lets go of one reference as the program does.
func (h *half) letGo(i int) {
	atomic.StoreUint64(&h.dead[i/64], h.dead[i/64]|1<<(i%64))
	h.left--
	var d Drop
	binary.BigEndian.PutUint64(d.Object[:], h.number)
	switch {
	case h.left == 0:
		d.View = DropLast
	case atomic.SwapUint32(&h.told, 1) == 0:
		d.View = DropSome
	default:
		return
	}
	h.c.Release(d)
}

func owned(c *Client, n int) (list []*ids.Object, objs []*refs.Object) {
	list, objs = pendingObjects(c, n)
	completeAll(c, objs...)
	return list, objs
}

func TestBatch_ReferencesGoInAnyOrder_EachIsGivenBackOnce(t *testing.T) {
	c := startDaemon(t).driver()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 1000} {
		list, objs := owned(c, n)
		table, err := c.RefTable(list)
		if err != nil {
			t.Fatal(err)
		}
		h := takeAll(t, c, table, n)
		gone := map[int]bool{}
		for _, i := range r.Perm(n) {
			if objs[i].Local() != 2 {
				t.Fatalf("of %d: reference %d is counted %d times", n, i, objs[i].Local())
			}
			h.letGo(i)
			gone[i] = true
			h.c.mu.Lock()
			h.c.TakeDrops()
			h.c.mu.Unlock()
			want := int32(2)
			if gone[i] {
				want = 1
			}
			if objs[i].Local() != want {
				t.Fatalf("of %d: reference %d was let go of and is counted %d times", n, i, objs[i].Local())
			}
		}
		if h.freed != 1 {
			t.Fatalf("of %d: freed %d times", n, h.freed)
		}
		for _, id := range list {
			c.Release(Drop{Object: *id})
		}
	}
	if o, b := c.Holds(); o != 0 || b != 0 {
		t.Fatalf("%d owned and %d borrowed objects are left", o, b)
	}
}

func TestBatch_SameValueTwice_CountsAreApart(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := owned(c, 3)
	table, _ := c.RefTable([]*ids.Object{list[0], list[1], list[2], list[0]})
	a, b := takeAll(t, c, table, 4), takeAll(t, c, table, 4)
	if objs[0].Local() != 5 || objs[1].Local() != 3 {
		t.Fatal(objs[0].Local(), objs[1].Local())
	}
	for i := range 4 {
		a.letGo(i)
	}
	if objs[0].Local() != 3 || a.freed != 1 || b.freed != 0 {
		t.Fatal(objs[0].Local(), a.freed, b.freed)
	}
	for i := range 4 {
		b.letGo(3 - i)
	}
	if objs[0].Local() != 1 || b.freed != 1 {
		t.Fatal(objs[0].Local(), b.freed)
	}
}

func TestBatch_BorrowedOfSeveralOwners_GivenBackToEach(t *testing.T) {
	d := startDaemon(t)
	a, b, c := d.driver(), d.driver(), d.driver()
	ofA, inA := owned(a, 70)
	ofB, inB := owned(b, 70)
	var list []*ids.Object
	for i := range ofA {
		list = append(list, ofA[i], ofB[i])
	}
	for _, from := range []struct {
		c    *Client
		list []*ids.Object
	}{{a, ofA}, {b, ofB}} { // c learns of them
		table, err := from.c.RefTable(from.list)
		if err != nil {
			t.Fatal(err)
		}
		takeAll(t, c, table, 70)
	}
	table, err := c.RefTable(list)
	if err != nil {
		t.Fatal(err)
	}
	h := takeAll(t, c, table, len(list))
	for i := range list {
		h.letGo(i)
	}
	for _, of := range []struct {
		c    *Client
		objs []*refs.Object
	}{{a, inA}, {b, inB}} {
		d.eventually("the owner knows who borrows", func() bool {
			of.c.mu.Lock()
			defer of.c.mu.Unlock()
			return of.objs[0].Borrowers() == 1 && of.objs[69].Borrowers() == 1
		})
	}
	if _, n := c.Holds(); n != 140 {
		t.Fatalf("%d are borrowed, want 140: the first two values hold them", n)
	}
}

func TestBatch_ProgramOutlivesItsSession_MemoryIsFreed(t *testing.T) {
	c := startDaemon(t).driver()
	list, _ := owned(c, 100)
	table, _ := c.RefTable(list)
	h := takeAll(t, c, table, 100)
	h.letGo(7)
	c.Close(0)
	var d Drop
	binary.BigEndian.PutUint64(d.Object[:], h.number)
	d.View = DropSome
	DropOrphans([]Drop{d})
	d.View = DropLast
	DropOrphans([]Drop{d, d})
	if h.freed != 1 {
		t.Fatalf("freed %d times", h.freed)
	}
}

// What contains references must not go while the owner does not know of them.
func TestBatch_OwnerHasNotAnswered_WhatMayHaveBroughtOthersStays(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := owned(c, 3)
	c.mu.Lock()
	inner := c.table.New(0, 0)
	c.table.Complete(inner, refs.Inline, []byte{1}, 1, false)
	c.table.Contain(objs[1], inner)
	c.table.Registering(1)
	c.mu.Unlock()
	table, _ := c.RefTable(list)
	h := takeAll(t, c, table, 3)
	for i := range 3 {
		h.letGo(i)
	}
	if objs[0].Local() != 1 || objs[1].Local() != 2 || objs[2].Local() != 1 {
		t.Fatal(objs[0].Local(), objs[1].Local(), objs[2].Local())
	}
	c.mu.Lock()
	c.table.Registered(1)
	c.TakeDrops()
	c.mu.Unlock()
	if objs[1].Local() != 1 {
		t.Fatal("it was not let go of later")
	}
}

// What the program made room for is not what the table has by now.
func TestBatch_TableOfAnotherSize_Error(t *testing.T) {
	c := startDaemon(t).driver()
	list, _ := owned(c, 65)
	table, err := c.RefTable(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []int{0, 1, 3} {
		if _, err := c.ImportAll(table, 0, refs.Batch{Dead: make([]uint64, words), Told: new(uint32), Free: func() {}}); err == nil {
			t.Errorf("65 references were taken into %d words", words)
		}
	}
}

func TestRefTable_Unknown_Error(t *testing.T) {
	c := startDaemon(t).driver()
	id := ids.NewObject(1, ids.NewWorkerOn(fakeNode).Owner(), ids.JobOf(1), 0)
	if _, err := c.RefTable([]*ids.Object{&id}); err == nil {
		t.Fatal("no error")
	}
}
