package daemon

import (
	"context"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// keptCode is a head that has one class.
type keptCode struct {
	codeHead
	object ids.Object
	data   string
}

func (h keptCode) Code(_ context.Context, id ids.Object, at uint64) ([]byte, uint64, bool, error) {
	if id != h.object || at > uint64(len(h.data)) {
		return nil, 0, false, nil
	}
	return []byte(h.data[at:]), uint64(len(h.data)), true, nil
}

// A class is given from the place that is asked for, and one that the cluster
// does not have is lost. Who asks what the cluster has is told that, and who
// registers an actor, or will not, has its class forgotten once.
func TestCode_GetPartDrop_AnswersWhatTheClusterHas(t *testing.T) {
	d, j := opened(t)
	head := keptCode{
		codeHead: codeHead{dropped: make(chan ids.Actor, 9), put: func() {}},
		object:   ids.NewObject(1, ids.Owner{1}, j.ID, 0), data: "the class",
	}
	d.SetHead(head)
	c := connected(t, wire.RoleDriver)
	c.job = j
	other := ids.NewObject(2, ids.Owner{1}, j.ID, 0)
	got, err := d.codeGet(t.Context(), c, received(t, wire.TCodeGet, wire.CodeAt{ObjectID: head.object[:], Offset: 4}))
	if x, ok := got.(wire.CodeData); err != nil || !ok || string(x.Data) != "class" || x.Size != 9 {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, id := range map[string][]byte{"one that is not there": other[:], "no id": []byte("x")} {
		want := map[bool]fault.Code{true: fault.ObjectLost, false: fault.BadRequest}[len(id) > 1]
		if _, err := d.codeGet(t.Context(), c, received(t, wire.TCodeGet, wire.CodeAt{ObjectID: id})); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	actor := ids.NewActor(j.ID)
	part := func(id ids.Object, size uint64) (wire.CodeHave, error) {
		got, err := d.codePart(t.Context(), c, received(t, wire.TCodePart, wire.CodePart{ActorID: actor[:], ObjectID: id[:], Size: size, Data: []byte("ab")}))
		have, _ := got.(wire.CodeHave)
		return have, err
	}
	if have, err := part(other, 0); err != nil || have != (wire.CodeHave{}) || len(c.codeFor) != 0 {
		t.Errorf("of a class that is not there the cluster has %+v, %v", have, err)
	}
	if have, err := part(head.object, 0); err != nil || have != (wire.CodeHave{Have: 4, Size: 9}) || !c.codeFor[actor] {
		t.Errorf("of a class that is there the cluster has %+v, %v", have, err)
	}
	if have, err := part(other, 7); err != nil || have != (wire.CodeHave{Have: 4, Size: 7}) {
		t.Errorf("a part: %+v, %v", have, err)
	}
	drop := wire.ActorRef{ActorID: actor[:]}
	for range 2 {
		if _, err := d.codeDrop(t.Context(), c, received(t, wire.TCodeDrop, drop)); err != nil {
			t.Error(err)
		}
	}
	if len(head.dropped) != 1 || len(c.codeFor) != 0 {
		t.Errorf("the class was dropped %d times, %d are claimed", len(head.dropped), len(c.codeFor))
	}
	if _, err := d.codeDrop(t.Context(), c, received(t, wire.TCodeDrop, wire.ActorRef{ActorID: []byte("x")})); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("no actor: %v", err)
	}
}

// An actor's large classes are named once each, and a name that is none is refused.
func TestCodeIDs_EachOnce(t *testing.T) {
	a, b := ids.NewObject(1, ids.Owner{1}, ids.Job{}, 0), ids.NewObject(2, ids.Owner{1}, ids.Job{}, 0)
	got, err := codeIDs([][]byte{a[:], nil, b[:], a[:], {}})
	if err != nil || !slices.Equal(got, []ids.Object{a, b}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := codeIDs([][]byte{a[:], []byte("x")}); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
