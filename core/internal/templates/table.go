package templates

import (
	"bytes"
	"slices"
	"unique"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
)

// Table has the templates of a process. The zero value is empty and ready.
type Table[C any] struct {
	Templates []*Template[C] // by their numbers; nil: the number is in FreeIDs
	FreeIDs   []int
	Endings   Endings[C]
}

// mostIDs bounds the numbers that the templates of a snapshot may have.
const mostIDs = 1 << 24

// AddTemplate gives a template, and each of its alternatives, a number that no other template
// has. Maker is told of the template, and returns the number of its name.
func (x *Table[C]) AddTemplate(t *Template[C], maker func(*Template[C]) uint32) {
	x.newID(t)
	t.maker = maker(t)
	t.Intern()
	t.roams = t.mayRoam()
	if t.Kind != frame.KindTask {
		return
	}
	for i, o := range t.Fallback {
		o = t.complete(o)
		x.newID(o)
		o.maker = t.maker
		o.Intern()
		t.Fallback[i] = o
	}
}

// newID gives a template a number. When a number is used again, every connection has been
// told to forget the old template before it hears of the new one.
func (x *Table[C]) newID(t *Template[C]) {
	if n := len(x.FreeIDs); n > 0 {
		t.ID = x.FreeIDs[n-1]
		x.FreeIDs = x.FreeIDs[:n-1]
		x.Templates[t.ID] = t
		return
	}
	t.ID = len(x.Templates)
	x.Templates = append(x.Templates, t)
}

// RestoreTemplate is AddTemplate for a template that has its number already, from another process. The
// program that called the template has ended.
func (x *Table[C]) RestoreTemplate(t *Template[C], maker func(*Template[C]) uint32) error {
	if err := x.takeID(t); err != nil {
		return err
	}
	t.maker = maker(t)
	t.Intern()
	t.retired, t.roams = true, t.mayRoam()
	if t.Kind != frame.KindTask {
		return nil
	}
	for _, o := range t.Fallback {
		if err := x.takeID(o); err != nil {
			return err
		}
		o.maker = t.maker
		o.Intern()
	}
	return nil
}

// takeID gives a template the number that it had.
func (x *Table[C]) takeID(t *Template[C]) error {
	if t.ID < 0 || t.ID > mostIDs || t.ID < len(x.Templates) && x.Templates[t.ID] != nil {
		return fault.New(fault.BadRequest, "template %d of %s was handed over twice", t.ID, t.Name)
	}
	for len(x.Templates) <= t.ID {
		x.Templates = append(x.Templates, nil)
	}
	x.Templates[t.ID] = t
	return nil
}

// TemplateAt returns the template with a number, nil if there is none.
func (x *Table[C]) TemplateAt(id int) *Template[C] {
	if id < 0 || id >= len(x.Templates) {
		return nil
	}
	return x.Templates[id]
}

// Unneeded reports whether a template is in the table and of no use any more.
func (x *Table[C]) Unneeded(t *Template[C]) bool {
	return t.retired && t.Open == 0 && t.recipes == 0 && x.TemplateAt(t.ID) == t
}

// RemoveTemplate removes a template and its alternatives. It returns the templates as which other tasks of it run, or would run, and
// which are retired now: those that retries with more memory have, and those of tasks that go to their large arguments.
func (x *Table[C]) RemoveTemplate(t *Template[C]) (others []*Template[C]) {
	for _, o := range append([]*Template[C]{t}, t.Fallback...) {
		x.Templates[o.ID] = nil
		x.FreeIDs = append(x.FreeIDs, o.ID)
		o.Blob, o.whole = nil, unique.Handle[string]{} // the list of ended tasks may still name it
	}
	x.Endings.retire(t)
	if larger := t.Larger; larger != nil {
		t.Larger, larger.retired = nil, true
		others = append(others, larger)
	}
	return append(others, t.leaveNears()...)
}

// AllTemplates returns those that there are.
func (x *Table[C]) AllTemplates() []*Template[C] {
	return slices.DeleteFunc(slices.Clone(x.Templates), func(t *Template[C]) bool { return t == nil })
}

// HiddenOpen is how many tasks without an answer are left out of lists.
func (x *Table[C]) HiddenOpen() (n int) {
	for _, t := range x.Templates {
		if t != nil && t.Hidden {
			n += t.Open
		}
	}
	return n
}

// ForgetFunction notes that the program cannot call a function any more. It reports whether
// tasks of the function have no answer yet.
func (x *Table[C]) ForgetFunction(fid []byte) (open bool) {
	for _, t := range x.AllTemplates() {
		if bytes.Equal(t.FID, fid) {
			t.Forget = true
			open = open || t.Open > 0
		}
	}
	return open
}

// FunctionRuns reports whether a task of a function has no answer yet.
func (x *Table[C]) FunctionRuns(fid []byte) bool {
	for _, t := range x.Templates {
		if t != nil && t.Open > 0 && bytes.Equal(t.FID, fid) {
			return true
		}
	}
	return false
}
