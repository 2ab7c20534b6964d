package refs

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// What may have brought a reference waits for owners that are silent. Everything else goes at once.
func TestDrop_OwnerIsSilent_WhatMayHaveBroughtAReferenceWaits(t *testing.T) {
	for what, x := range map[string]struct {
		drop func(tb *Table) Drop
		late bool
	}{
		"a value": {func(tb *Table) Drop { return Drop{Object: stored(tb, 0, 9).ID} }, false},
		"a value with a reference": {func(tb *Table) Drop {
			o := stored(tb, 0, 9)
			tb.Contain(o, stored(tb, 0, 9))
			return Drop{Object: o.ID}
		}, true},
		"an actor's handle": {func(tb *Table) Drop {
			o := tb.New(0, 1)
			tb.MakeToken(o, someActor{})
			return Drop{Object: o.ID}
		}, true},
		"a value of another process":  {func(tb *Table) Drop { return Drop{Object: foreign(tb, 3).ID} }, true},
		"an object that is not known": {func(*Table) Drop { return Drop{Object: ids.NewObject(99, ids.Owner{9}, ids.JobOf(1), 0)} }, false},
		"a view of a stored value":    {func(*Table) Drop { return Drop{View: 7} }, false},
		"a generator":                 {func(tb *Table) Drop { return Drop{Object: stored(tb, 0, 9).ID, View: DropStream} }, true},
	} {
		tb, _ := recorded()
		foreign(tb, 1) // its owner does not answer
		tb.Drop([]Drop{x.drop(tb)})
		if late := tb.LateDrops() == 1; late != x.late {
			t.Errorf("%s waits: %v", what, late)
		}
		tb.Registered(tb.Unregistered())
		tb.Drop(nil)
		if tb.LateDrops() != 0 {
			t.Errorf("%s waits for owners that have answered", what)
		}
	}
}

// foreign returns an object that is borrowed of another process, with one reference of the program's.
func foreign(tb *Table, count uint64) *Object {
	o := tb.Borrow(ids.NewObject(count, ids.Owner{9}, ids.JobOf(1), 0), "its owner")
	o.local++
	return o
}
