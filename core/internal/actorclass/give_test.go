package actorclass

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestGive_LargeClass_TheStateGetsAllPartsInOrder(t *testing.T) {
	s := new(state)
	id, _, whole := s.class(1, 2*partSize+100)
	a := ids.NewActor(ids.JobOf(1))
	existing, err := Give(s, &wire.ActorCreate{ActorID: a[:], ClassName: "A"}, [][]byte{id[:]})
	if existing != nil || err != nil {
		t.Fatal(existing, err)
	}
	got := s
	if !bytes.Equal(got.data, whole) || got.size != uint64(len(whole)) {
		t.Errorf("the state has %d of %d bytes", len(got.data), len(whole))
	}
	var offsets []int
	for _, q := range got.parts {
		offsets = append(offsets, int(q.Offset))
		if !bytes.Equal(q.ActorID, a[:]) || !bytes.Equal(q.ObjectID, id[:]) || len(q.Data) > partSize {
			t.Errorf("a part of %d bytes of object %x for actor %x", len(q.Data), q.ObjectID, q.ActorID)
		}
	}
	if want := []int{0, 0, partSize, 2 * partSize}; !slices.Equal(offsets, want) || got.parts[0].Size != 0 {
		t.Errorf("parts at %v, want %v, where the first only asks", offsets, want)
	}
	s.done(t)
	// What the state has it is not given again, for another actor neither.
	s.parts = nil
	b := ids.NewActor(ids.JobOf(1))
	_, err = Give(s, &wire.ActorCreate{ActorID: b[:]}, [][]byte{id[:]})
	if err != nil || len(got.parts) != 1 || len(got.parts[0].Data) != 0 {
		t.Errorf("%d parts, %v", len(got.parts), err)
	}
	// What another process has begun is gone on with.
	s.parts, s.data = nil, s.data[:partSize+5]
	_, err = Give(s, &wire.ActorCreate{ActorID: b[:]}, [][]byte{id[:]})
	if err != nil || !bytes.Equal(got.data, whole) || got.parts[1].Offset != partSize+5 {
		t.Errorf("%d bytes in %d parts, %v", len(got.data), len(got.parts), err)
	}
	if len(got.dropped) > 0 {
		t.Error("what succeeded is dropped")
	}
}

func TestGive_NothingIsLarge_NobodyIsAsked(t *testing.T) {
	if existing, err := Give(nil, &wire.ActorCreate{GetIfExists: true}, nil); existing != nil || err != nil {
		t.Error(existing, err)
	}
}

func TestGive_ActorOfThatNameExists_NothingIsGiven(t *testing.T) {
	s := new(state)
	id, _, whole := s.class(1, partSize)
	there := ids.NewActor(ids.JobOf(1))
	s.named = map[string][]byte{"n/there": there[:]}
	q := wire.ActorCreate{ActorID: there[:], Name: "there", Namespace: "n", GetIfExists: true}
	if existing, err := Give(s, &q, [][]byte{id[:]}); err != nil || existing == nil || !bytes.Equal(existing.ActorID, there[:]) || len(s.parts) > 0 {
		t.Errorf("%+v, %v, %d parts", existing, err, len(s.parts))
	}
	q.Name = "not there"
	if existing, err := Give(s, &q, [][]byte{id[:]}); err != nil || existing != nil || !bytes.Equal(s.data, whole) {
		t.Errorf("%+v, %v, %d bytes", existing, err, len(s.data))
	}
	q.Name, q.GetIfExists = "there", false
	s.parts, s.data, s.size = nil, nil, 0
	if existing, err := Give(s, &q, [][]byte{id[:]}); err != nil || existing != nil || !bytes.Equal(s.data, whole) {
		t.Errorf("without GetIfExists: %+v, %v, %d bytes", existing, err, len(s.data))
	}
}

func TestGive_Failures_NameTheClassAndDropWhatWasGiven(t *testing.T) {
	s := new(state)
	id, _, _ := s.class(1, partSize)
	lost := ids.NewObject(2, ids.Owner{1}, ids.JobOf(1), 0)
	for what, x := range map[string]struct {
		object []byte
		have   func(*wire.CodePart) wire.CodeHave
		code   fault.Code
		words  string
	}{
		"no object's id":                   {[]byte("short"), nil, fault.BadRequest, "actor A: its class:"},
		"it is lost":                       {lost[:], nil, fault.ObjectLost, "actor A: give the cluster its class:"},
		"the state is stuck":               {id[:], func(q *wire.CodePart) wire.CodeHave { return wire.CodeHave{Have: 7} }, fault.Internal, "the cluster has 7 of"},
		"the state has more than there is": {id[:], func(*wire.CodePart) wire.CodeHave { return wire.CodeHave{Have: 1 << 40} }, fault.Internal, "the cluster has 1099511627776 of"},
		"the state has more": {id[:], func(q *wire.CodePart) wire.CodeHave {
			if q.Size == 0 {
				return wire.CodeHave{}
			}
			return wire.CodeHave{Have: q.Size + 1}
		}, fault.Internal, "actor A: give the cluster its class:"},
	} {
		s.have, s.dropped = x.have, nil
		existing, err := Give(s, &wire.ActorCreate{ActorID: []byte(what), ClassName: "A"}, [][]byte{x.object})
		if existing != nil || fault.CodeOf(err) != x.code || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: %+v, %v", what, existing, err)
		}
		if x.code != fault.BadRequest {
			if !slices.Equal(s.dropped, []string{what}) {
				t.Errorf("%s: dropped are %q", what, s.dropped)
			}
		}
	}
	s.done(t)
}
