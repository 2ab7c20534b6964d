package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Where a reference was made is told in the words of the way in which it was made.
func TestSiteOf_EachWayToMakeAReference_HasItsWords(t *testing.T) {
	d := startDaemon(t)
	d.act(0, echoes)
	m, friend := d.sited(wire.RoleDriver), d.sited(wire.RoleDriver)
	c := m.c
	says := func(what string, c *Client, id ids.Object, want string) {
		t.Helper()
		if got := c.SiteOf(id); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	put, err := c.Put(&Value{Fmt: FmtPickle, Meta: []byte("x"), Site: 3})
	if err != nil {
		t.Fatal(err)
	}
	says("an object that was put", c, put, "(put object) | line 3")
	silent, err := c.Put(&Value{Fmt: FmtPickle, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	says("an object whose line is not known", c, silent, "")
	says("an object that does not exist", c, ids.NewObject(1<<40, c.self, c.info.Job, 1), "")

	large := Value{Fmt: FmtPickle, Meta: make([]byte, MaxInline+1), Site: 4}
	first, _, err := c.Submit(&Call{Template: template(t, c, "f"), Args: large})
	if err != nil {
		t.Fatal(err)
	}
	says("what a task returns", c, first, "(task call) f | line 4")
	c.mu.Lock()
	argument := c.table.FindOwned(first.Count() - 1).ID
	c.mu.Unlock()
	says("the large arguments of a task", c, argument, "(task argument) f | line 4")

	actor, _, err := c.NewActor(oneActor(), &Value{Fmt: FmtNone, Site: 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	says("the handle of an actor that this process created", c, c.ActorTokenID(actor), "(actor creation) | line 5")
	call, _, err := c.CallActor(actor, &Call{Template: method(t, c, 0), Args: Value{Fmt: FmtNone, Site: 6}})
	if err != nil {
		t.Fatal(err)
	}
	says("what a method returns", c, call, "(actor call) A.m | line 6")
	if _, code := outcome(t, c, call); code != "" { // so the actor's worker has started before the test is over
		t.Errorf("the method came to %q", code)
	}

	if err := friend.c.Import(put, c.info.Addr, 7); err != nil {
		t.Fatal(err)
	}
	says("a reference that came from another process", friend.c, put, "(deserialize) | line 7")
	if err := friend.c.Import(put, c.info.Addr, 8); err != nil {
		t.Fatal(err)
	}
	says("a reference that came once more", friend.c, put, "(deserialize) | line 7")
	if err := c.Import(silent, c.info.Addr, 9); err != nil {
		t.Fatal(err)
	}
	says("an own reference that came back", c, silent, "")
	token, err := friend.c.OpenActor(actor, c.ActorToken(actor), "A", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	says("a handle that came from another process", friend.c, token, "(actor handle) | line 10")

	c.mu.Lock()
	c.sites.Line = nil
	c.mu.Unlock()
	says("a program that has no lines", c, put, "")
}

// A reference that a task has with its arguments came in at no line of the program: the task is named.
func TestArrived_WithTheArgumentsOfATask_TheTaskIsNamed(t *testing.T) {
	d := startDaemon(t)
	w, owner := d.programless(), d.sited(wire.RoleDriver)
	id := owner.put(t, "x")
	other := owner.put(t, "y")
	p := callsInto(t, w, wire.RoleLease, nil)
	if err := w.Import(other, owner.c.info.Addr, 0); err != nil {
		t.Fatal(err)
	}
	if got := w.SiteOf(other); got != "" {
		t.Errorf("a reference that came before any task: %q", got)
	}
	p.send(templateOf(1, nil), callOf(1, 1, "x"))
	it := takes(t, w)
	if err := w.Import(id, owner.c.info.Addr, 0); err != nil {
		t.Fatal(err)
	}
	if got := w.SiteOf(id); got != "(deserialize task arg) f" {
		t.Errorf("a reference among the arguments: %q", got)
	}
	answers(t, w, it, "x")
}

// A worker whose tasks bring references that it has, or that are its own, does nothing for the sites of those. For
// new ones it makes the text of a function once, however many of its tasks bring some.
func TestImportTable_ReferencesOfAWorker_TextIsMadeOnceAndOnlyForNewOnes(t *testing.T) {
	d := startDaemon(t)
	w, owner := d.programless(), d.sited(wire.RoleDriver)
	p := callsInto(t, w, wire.RoleLease, nil)
	mine, err := w.Put(&Value{Fmt: FmtPickle, Meta: []byte("mine")})
	if err != nil {
		t.Fatal(err)
	}
	known := owner.put(t, "x")
	if err := w.Import(known, owner.c.info.Addr, 0); err != nil { // before any task
		t.Fatal(err)
	}
	if err := w.Import(known, owner.c.info.Addr, 3); err != nil { // here it came in
		t.Fatal(err)
	}
	imports := func(c *Client, list ...*ids.Object) {
		t.Helper()
		table, err := c.RefTable(list)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.ImportTable(table); err != nil {
			t.Fatal(err)
		}
	}
	texts := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.sites.Len()
	}
	p.send(templateOf(1, nil), callOf(1, 1, "x"))
	it := takes(t, w)
	imports(w, &mine, &known, &mine)
	if n := texts(); n != 0 {
		t.Errorf("%d texts are made for references that are known", n)
	}
	for range 3 {
		fresh := owner.put(t, "y")
		imports(owner.c, &known, &fresh)
		if got := w.SiteOf(fresh); got != "(deserialize task arg) f" {
			t.Errorf("a new reference among the arguments: %q", got)
		}
	}
	if n := texts(); n != 1 {
		t.Errorf("%d texts are made for one function", n)
	}
	w.mu.Lock()
	if n := testing.AllocsPerRun(100, func() { (*host)(w).ArrivalSite(0) }); n != 0 {
		t.Errorf("each value with new references costs %v allocations for its site", n)
	}
	w.mu.Unlock()
	answers(t, w, it, "x")

	p.send(templateOf(2, func(x *frame.Template) { x.Name = "g" }), callOf(2, 2, "x"))
	it = takes(t, w)
	fresh := owner.put(t, "z")
	imports(owner.c, &fresh)
	if got := w.SiteOf(fresh); got != "(deserialize task arg) g" {
		t.Errorf("a new reference among the arguments of another function: %q", got)
	}
	answers(t, w, it, "x")
}
