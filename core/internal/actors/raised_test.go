package actors

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Who has created an actor keeps the exception of its constructor, and who has another handle borrows it,
// for as long as it has the handle. Nothing else that an actor's end names is kept.
func TestDie_OnlyTheActorsOwnExceptionIsKept(t *testing.T) {
	p := newProcess(t)
	token := p.objects.New(0, 1)
	p.objects.Reserve(1)
	token.SetOrigin(5, 6)
	id := RaisedID(token.ID)
	dies := func(token *refs.Object, env []byte) *row {
		a := p.unheld()
		a.token = token
		a.Die(fault.New(fault.ActorDied, "it raised"), env)
		return a
	}
	for what, env := range map[string][]byte{
		"no exception":              nil,
		"one that is not elsewhere": store.AppendEnvelope(nil, store.FormatPickle, []byte("x")),
		"another object":            elsewhere(token.ID),
		"one that cannot be read":   store.AppendEnvelope(nil, store.FormatElsewhere, []byte{1}),
	} {
		if _, kept := dies(token, env).Exception(); kept != nil {
			t.Errorf("%s: %+v is kept", what, kept)
		}
	}
	if _, kept := dies(nil, elsewhere(id)).Exception(); kept != nil {
		t.Error("without a handle that counts it is kept")
	}
	a := dies(token, elsewhere(id))
	_, o := a.Exception()
	if o == nil || o.ID != id || !o.Owned() || o.State() != refs.Stored || o.Size() != 99 || !o.IsError() || !o.Seen() || o.Pins() != 1 || o.Site() != 5 || o.Maker() != 6 {
		t.Fatalf("%+v is kept", o)
	}
	twin := dies(token, elsewhere(id))
	if _, kept := twin.Exception(); kept != o || o.Pins() != 2 {
		t.Errorf("who has it already gets %+v", kept)
	}
	twin.forget()
	twin.dropRaised() // once
	if p.objects.Find(id) != o || o.Pins() != 1 {
		t.Error("it goes while it is kept")
	}
	a.forget()
	if _, kept := a.Exception(); p.objects.Find(id) != nil || kept != nil {
		t.Error("it stays when nobody has a handle")
	}
	theirs := p.objects.Borrow(ids.NewObject(8, ids.Owner{9}, ids.JobOf(1), 0), "/creator")
	_, o = dies(theirs, elsewhere(RaisedID(theirs.ID))).Exception()
	if o == nil || o.Owned() || o.OwnerAddr() != "the owner" || o.Pins() != 1 || !o.Seen() {
		t.Errorf("of another process's actor %+v is kept", o)
	}
}

// elsewhere is the envelope of an exception that is in the store.
func elsewhere(id ids.Object) []byte {
	return store.AppendEnvelope(nil, store.FormatElsewhere, frame.AppendPointer(nil, &frame.Pointer{ID: id, Owner: "the owner", Size: 99, Brief: []byte("in short")}))
}
