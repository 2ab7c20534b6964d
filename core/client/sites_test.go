package client

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
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
	c.opts.Site = nil
	c.mu.Unlock()
	says("a program that has no lines", c, put, "")
}

// A reference that a task has with its arguments came in at no line of the program: the task is named.
func TestArrived_WithTheArgumentsOfATask_TheTaskIsNamed(t *testing.T) {
	d := startDaemon(t)
	w, owner := d.programless(), d.sited(wire.RoleDriver)
	id := owner.put(t, "x")
	other := owner.put(t, "y")
	p := calls(t, w, wire.RoleLease, nil)
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

// Names of functions are numbered once each. When there are too many, those that
// come later share one name, and methods are still told from functions.
func TestMakerNumber_TooManyNames_TheLaterOnesShareOne(t *testing.T) {
	c := bareClient(t, Options{})
	number := func(name string, kind int) uint32 { return c.makerNumber(&Template{Name: name, Kind: kind}) }
	f, m := number("f", KindTask), number("f", KindMethod)
	if number("f", KindTask) != f || number("f", KindMethod) != m || f == m {
		t.Errorf("numbers %x and %x, and then others", f, m)
	}
	says := func(n uint32, name string, method bool) {
		t.Helper()
		o := refs.Known(ids.Object{}, refs.Facts{Maker: n})
		if got := c.makerOf(o); got != name || c.isCall(o) != method {
			t.Errorf("number %x: %q, a method: %v; want %q, %v", n, got, c.isCall(o), name, method)
		}
	}
	says(f, "f", false)
	says(m, "f", true)
	says(0, "", false)
	if n := c.textNumber(""); n != 0 {
		t.Errorf("no text has number %x", n)
	}
	for i := range maxTexts - 1 {
		if c.textNumber(fmt.Sprint("text ", i)) == 0 {
			t.Fatalf("text %d has no number", i)
		}
	}
	if n := c.textNumber("one more"); n != 0 {
		t.Errorf("a text has number %x although there are too many", n)
	}
	late, method := number("late", KindTask), number("later", KindMethod)
	if late&^ofMethod != method&^ofMethod || late == f {
		t.Errorf("numbers %x and %x of names that came late", late, method)
	}
	says(late, manyNames, false)
	says(method, manyNames, true)
	says(number("f", KindTask), "f", false)
	if len(c.texts) != maxTexts+1 {
		t.Errorf("%d texts are kept", len(c.texts))
	}
}
