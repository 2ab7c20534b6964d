package templates

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Tasks with large arguments have a template of their own for each node on which such arguments lie, which is like that of the function but for Near. So
// they have a scheduling class of their own. That is so only where there may be several nodes.

// mayRoam reports whether tasks of a template may go to their large arguments: it has no alternatives, and its strategy leaves the node open.
func (t *Template[C]) mayRoam() bool {
	if t.Kind != frame.KindTask || len(t.Fallback) > 0 || t.AfterMs > 0 {
		return false
	}
	s, err := strategy.Parse(t.Strategy)
	return err == nil && (s.Kind == strategy.Default || s.Kind == strategy.Group && s.Bundle == strategy.AnyBundle)
}

// Roams reports whether tasks of the template may go to their large arguments.
func (t *Template[C]) Roams() bool { return t.roams }

// NearTo returns the template of tasks of the same function and options whose large arguments lie on a node, 0 for none. It is nil if there
// is none yet: then Approach makes one.
func (t *Template[C]) NearTo(node uint32) *Template[C] {
	b := t
	if t.Near != 0 {
		b = t.base
	}
	switch {
	case node == t.Near || b == nil: // that of the function is gone: the tasks of this one stay together
		return t
	case node == 0:
		return b
	}
	return b.nears[node]
}

// Approach makes the template of tasks whose large arguments lie on a node. It has no number, no class and no past.
func (t *Template[C]) Approach(node uint32) *Template[C] {
	b := t
	if t.Near != 0 {
		b = t.base
	}
	x := *b
	x.Class, x.Larger, x.retired, x.recipes, x.nears = nil, nil, false, 0, nil
	x.finished, x.failed, x.Open = 0, 0, 0
	x.Near, x.base = node, b
	if b.nears == nil {
		b.nears = make(map[uint32]*Template[C])
	}
	b.nears[node] = &x
	return &x
}

// leaveNears retires the templates of tasks that go to their large arguments. A template of these leaves the one that it belongs to.
func (t *Template[C]) leaveNears() (others []*Template[C]) {
	if t.base != nil {
		delete(t.base.nears, t.Near)
		t.base = nil
	}
	for _, node := range slices.Sorted(maps.Keys(t.nears)) {
		x := t.nears[node]
		x.base, x.retired = nil, true
		others = append(others, x)
	}
	t.nears = nil
	return others
}

// Nears returns the templates of tasks whose large arguments lie on a node.
func (x *Table[C]) Nears(node uint32) (list []*Template[C]) {
	for _, t := range x.Templates {
		if t != nil && t.Near == node {
			list = append(list, t)
		}
	}
	return list
}
