package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// retirements notes which classes the daemon is told to forget.
func (d *fakeDaemon) retirements() (list func() []uint32) {
	var seen []uint32
	d.answers(wire.TClassRetire, func(m *wire.Message) bool {
		var q wire.LeaseWant
		_ = m.Decode(&q)
		seen = append(seen, q.ClassID)
		return true
	})
	return func() []uint32 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(seen)
	}
}

// A function that the program cannot call any more goes with its alternatives, with
// the form that asks for more memory, and with its class when nothing else has that.
func TestRetire_AlternativesAndMoreMemory_GoWithTheFunction(t *testing.T) {
	d := startDaemon(t)
	retired := d.retirements()
	c := d.driver()
	c.mu.Lock()
	c.submit.Totals.Resources = map[string]int64{templates.MemoryName: 1000 * mib}
	c.mu.Unlock()
	made := func(name string) int {
		id, err := c.NewTemplate(&Template{Kind: KindTask, Name: name, FID: []byte("0123456789abcdef"), Blob: []byte("code"), Returns: 1, MoreMemory: true,
			Resources: map[string]int64{"CPU": 1, templates.MemoryName: 100 * mib}, Fallback: []*Template{{Resources: map[string]int64{"CPU": 2}}}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	f, g := made("f"), made("g")
	c.mu.Lock()
	tm := c.submit.Templates[f]
	class, shared := tm.Class.ID, c.submit.Templates[g].Class.ID
	if !c.submit.Enlarge(&submit.Task{Template: tm}, 5) {
		t.Fatal("its task may not ask for more memory")
	}
	larger, largerClass := tm.Larger, tm.Larger.Class.ID
	numbers := []int{f, tm.Fallback[0].ID, larger.ID, larger.Fallback[0].ID}
	c.mu.Unlock()
	if class != shared || class == largerClass {
		t.Fatalf("classes %d, %d and %d", class, shared, largerClass)
	}
	for _, id := range []int{-1, numbers[3] + 1, 1 << 30} {
		c.Retire(id) // no function has the number
	}
	c.Retire(f)
	toldWants(t, c, func() []wire.LeaseWant { return nil })
	if got := retired(); !slices.Equal(got, []uint32{largerClass}) {
		t.Errorf("the daemon is told to forget the classes %v, want only %d", got, largerClass)
	}
	c.mu.Lock()
	for _, id := range numbers {
		if c.submit.Templates[id] != nil || !slices.Contains(c.submit.FreeIDs, id) {
			t.Errorf("number %d is still a function's", id)
		}
	}
	if tm.Blob != nil || tm.Larger != nil {
		t.Error("a function that is gone keeps its code")
	}
	c.mu.Unlock()
	c.Retire(f) // once more
	c.Retire(g)
	toldWants(t, c, func() []wire.LeaseWant { return nil })
	if got := retired(); !slices.Equal(got, []uint32{largerClass, class}) {
		t.Errorf("the daemon is told to forget the classes %v, want %d and %d", got, largerClass, class)
	}
	if n := c.Footprint(false); n["n_classes"] != 0 || n["n_shapes"] != 0 {
		t.Errorf("classes and shapes are left: %v", n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.submit.AllTemplates()) != 0 {
		t.Errorf("%d functions are left", len(c.submit.AllTemplates()))
	}
}
