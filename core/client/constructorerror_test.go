package client

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// A large exception of a constructor goes to the store as the object behind the actor's token, and the
// cluster's state keeps where it is. Where that is not possible the short form is kept.
func TestConstructorRaised_GoesToTheStoreOrIsKeptInShort(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	token := ids.NewObject(40, ids.Owner{7}, ids.JobOf(3), 0)
	v, brief := large("the exception"), []byte("in short")
	raise := func(text string) Value {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.constructorRaised(&wire.ActorStart{Token: text}, &v, brief)
	}
	isShort := func(what string, got Value) {
		t.Helper()
		if got.Fmt != FmtError || !bytes.Equal(got.Meta, brief) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for what, text := range map[string]string{
		"a detached actor":          "",
		"a token that is no number": "zz@owner",
		"a token of another length": "abcd@owner",
		"a token without its owner": hex.EncodeToString(token[:]),
	} {
		isShort(what, raise(text))
	}
	got := raise(hex.EncodeToString(token[:]) + "@owner")
	want := ids.NewObject(41, ids.Owner{7}, ids.JobOf(3), 1)
	total, _ := v.layout()
	p, err := frame.ReadPointer(got.Meta)
	if err != nil || got.Fmt != FmtElsewhere || p.ID != want || p.Owner != "owner" || p.Size != uint64(total) || !bytes.Equal(p.Brief, brief) {
		t.Errorf("%+v, %v", p, err)
	}
	d.mu.Lock()
	if d.objects[string(want[:])].Size < uint64(total) || len(d.objects) != 1 {
		t.Errorf("the store has %v", d.objects)
	}
	d.mu.Unlock()
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		_ = m.Fail(fault.New(fault.StoreFull, "full"))
		return true
	})
	isShort("the store is full", raise(hex.EncodeToString(token[:])+"@owner"))
}

// elsewhere is the envelope of an exception that is in the store.
func elsewhere(id ids.Object) []byte {
	return store.AppendEnvelope(nil, store.FormatElsewhere, frame.AppendPointer(nil, &frame.Pointer{ID: id, Owner: "the owner", Size: 99, Brief: []byte("in short")}))
}

// Who has created an actor keeps the exception of its constructor, and who has another handle borrows it,
// for as long as it has the handle. Nothing else that an actor's end names is kept.
func TestKeepRaised_OnlyTheActorsOwnException(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	c.mu.Lock()
	token := c.table.New(0, 1)
	c.table.Reserve(1)
	token.SetOrigin(5, 6)
	a := &actor{id: ids.Actor{1}, token: token}
	id := raisedID(token.ID)
	for what, env := range map[string][]byte{
		"no exception":              nil,
		"one that is not elsewhere": inlineText("x"),
		"another object":            elsewhere(token.ID),
		"one that cannot be read":   store.AppendEnvelope(nil, store.FormatElsewhere, []byte{1}),
	} {
		a.deadEnv = env
		if c.keepRaised(a); a.raised != nil {
			t.Errorf("%s: %+v is kept", what, a.raised)
		}
	}
	a.deadEnv = elsewhere(id)
	a.token = nil
	if c.keepRaised(a); a.raised != nil {
		t.Error("without a handle that counts it is kept")
	}
	a.token = token
	c.keepRaised(a)
	o := a.raised
	if o == nil || o.ID != id || !o.Owned() || o.State() != refs.Stored || o.Size() != 99 || !o.IsError() || !o.Seen() || o.Pins() != 1 || o.Site() != 5 || o.Maker() != 6 {
		t.Fatalf("%+v is kept", o)
	}
	twin := &actor{id: ids.Actor{2}, token: token, deadEnv: a.deadEnv}
	if c.keepRaised(twin); twin.raised != o || o.Pins() != 2 {
		t.Errorf("who has it already gets %+v", twin.raised)
	}
	c.dropRaised(twin)
	c.dropRaised(twin) // once
	if c.table.Find(id) != o || o.Pins() != 1 {
		t.Error("it goes while it is kept")
	}
	c.dropRaised(a)
	if c.table.Find(id) != nil || a.raised != nil {
		t.Error("it stays when nobody has a handle")
	}
	c.mu.Unlock()
	d.eventually("the store lets go of it", func() bool { return d.freed[string(id[:])] })
}

func TestKeepRaised_AnothersActor_IsBorrowed(t *testing.T) {
	d := startDaemon(t)
	c, owner := d.driver(), d.driver()
	owner.mu.Lock()
	theirs := owner.table.New(0, 1)
	owner.table.Reserve(1)
	exception := owner.table.Place(theirs.ID.Count()+1, 1)
	owner.table.Ref(exception)
	owner.table.PutStored(exception, 0, false)
	owner.mu.Unlock()
	p := frame.Pointer{ID: exception.ID, Owner: owner.info.Addr, Size: 99}
	c.mu.Lock()
	token := c.table.Borrow(theirs.ID, owner.info.Addr)
	a := &actor{id: ids.Actor{1}, token: token, deadEnv: store.AppendEnvelope(nil, store.FormatElsewhere, frame.AppendPointer(nil, &p))}
	c.keepRaised(a)
	o := a.raised
	if o == nil || o.ID != exception.ID || o.OwnerAddr() != owner.info.Addr || o.Pins() != 1 || !o.Seen() {
		t.Fatalf("%+v is kept", o)
	}
	c.mu.Unlock()
	borrowers := func() (n int) {
		owner.mu.Lock()
		defer owner.mu.Unlock()
		return exception.Borrowers()
	}
	waitFor(t, "the owner knows that it is borrowed", func() bool { return borrowers() == 1 })
	c.mu.Lock()
	c.dropRaised(a)
	c.mu.Unlock()
	waitFor(t, "the owner knows that it is not any more", func() bool { return borrowers() == 0 })
}
