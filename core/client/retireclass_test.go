package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
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
	c.info.Totals.Resources = map[string]int64{memoryName: 1000 * mib}
	c.mu.Unlock()
	made := func(name string) int {
		id, err := c.NewTemplate(&Template{Kind: KindTask, Name: name, FID: []byte("0123456789abcdef"), Blob: []byte("code"), Returns: 1, MoreMemory: true,
			Resources: map[string]int64{"CPU": 1, memoryName: 100 * mib}, Fallback: []*Template{{Resources: map[string]int64{"CPU": 2}}}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	f, g := made("f"), made("g")
	c.mu.Lock()
	tm := c.tmpls[f]
	class, shared := tm.class.id, c.tmpls[g].class.id
	if !c.enlarge(&task{tmpl: tm}, 5) {
		t.Fatal("its task may not ask for more memory")
	}
	larger, largerClass := tm.larger, tm.larger.class.id
	numbers := []int{f, tm.Fallback[0].id, larger.id, larger.Fallback[0].id}
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
		if c.tmpls[id] != nil || !slices.Contains(c.freeIDs, id) {
			t.Errorf("number %d is still a function's", id)
		}
	}
	if tm.Blob != nil || tm.larger != nil {
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
	if len(c.templates()) != 0 {
		t.Errorf("%d functions are left", len(c.templates()))
	}
}

// The tasks of functions that are gone are counted by name, those of too many names together.
func TestEnds_TooManyNames_TheLaterOnesAreCountedTogether(t *testing.T) {
	var x endings
	x.retire(&Template{Name: "unused"})
	if x.retired != nil {
		t.Error("a function that never ran is counted")
	}
	for i := range maxEnds {
		x.retire(&Template{Name: fmt.Sprint(i), finished: 1})
	}
	x.retire(&Template{Name: "0", finished: 2, failed: 3})
	x.retire(&Template{Name: "late", finished: 4, failed: 5})
	x.retire(&Template{Name: "later", finished: 6, failed: 7})
	x.retire(&Template{Name: "0", Kind: KindMethod, failed: 1})
	is := func(name, kind string, want wire.Ends) {
		t.Helper()
		y := x.retired[[2]string{name, kind}]
		if y == nil || y.Name != want.Name || y.Method != want.Method || y.Finished != want.Finished || y.Failed != want.Failed {
			t.Errorf("%s %s: %+v, want %+v", kind, name, y, want)
		}
	}
	function, method := kindName(&Template{}), kindName(&Template{Kind: KindMethod})
	is("0", function, wire.Ends{Name: "0", Finished: 3, Failed: 3})
	is(manyNames, function, wire.Ends{Name: manyNames, Finished: 10, Failed: 12})
	is(manyNames, method, wire.Ends{Name: manyNames, Method: true, Failed: 1})
	if len(x.retired) != maxEnds+2 {
		t.Errorf("%d names are counted", len(x.retired))
	}
}

// An heir gets functions with the numbers and classes that they had, and refuses what cannot be.
func TestInheritTemplate_NumbersAndClasses_AreAsTheyWere(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	code := strings.Repeat("code", 10)
	made := func(number int, class uint32, change func(*Template)) *Template {
		tm := &Template{Kind: KindTask, Name: "f", FID: []byte("0123456789abcdef"), Blob: []byte(code), Returns: 1, Number: number, ClassID: class, Resources: map[string]int64{"CPU": 1}}
		if change != nil {
			change(tm)
		}
		return tm
	}
	other := made(5, 0, nil)
	first := made(3, 8, func(tm *Template) { tm.Fallback = []*Template{other} })
	if err := c.inheritTemplate(first); err != nil {
		t.Fatal(err)
	}
	if c.tmpls[3] != first || c.tmpls[5] != other || first.id != 3 || other.id != 5 || len(c.tmpls) != 6 || !first.retired {
		t.Errorf("numbers %d and %d of %d", first.id, other.id, len(c.tmpls))
	}
	if first.class == nil || first.class.id != 8 || c.classes[8] != first.class || first.class.templates != 1 {
		t.Errorf("its class: %+v", first.class)
	}
	if name := c.texts[first.maker&^ownText]; name != "f" || other.maker != first.maker {
		t.Errorf("its name is %q, the alternative's number is %x", name, other.maker)
	}
	if &first.Blob[0] != &other.Blob[0] {
		t.Error("two functions with the same code have two copies of it")
	}
	same := made(4, 8, func(tm *Template) { tm.Fallback = []*Template{made(6, 0, nil)} })
	if err := c.inheritTemplate(same); err != nil || same.class != first.class || first.class.templates != 2 {
		t.Errorf("one that needs the same: %v, %+v", err, same.class)
	}
	method := made(0, 99, func(tm *Template) { tm.Kind = KindMethod })
	if err := c.inheritTemplate(method); err != nil || method.class != nil || c.tmpls[0] != method {
		t.Errorf("a method: %v, %+v", err, method.class)
	}
	if err := c.inheritTemplate(made(mostIDs, 98, func(tm *Template) { tm.Name = "last" })); err != nil {
		t.Errorf("the highest number: %v", err)
	}
	for words, tm := range map[string]*Template{
		"template 3 of f":                          made(3, 9, nil),
		"template -1 of f":                         made(-1, 9, nil),
		fmt.Sprintf("template %d of f", mostIDs+1): made(mostIDs+1, 9, nil),
		"template 5 of f":                          made(7, 9, func(tm *Template) { tm.Fallback = []*Template{made(5, 0, nil)} }),
		"class 8 of f":                             made(9, 8, func(tm *Template) { tm.Resources = map[string]int64{"CPU": 2} }),
	} {
		if err := c.inheritTemplate(tm); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	clear(c.classes)
	clear(c.byClass)
	clear(c.shapes)
}
