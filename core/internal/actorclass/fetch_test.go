package actorclass

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestFetch_StateAnswersWrongly_IsRefused(t *testing.T) {
	s := new(state)
	whole := func(v envelope.Value) []byte {
		return store.AppendEnvelope(nil, store.Format(v.Fmt), v.Meta, v.Bufs...)
	}
	all := func(b []byte) func(uint64) (wire.CodeData, error) {
		return func(at uint64) (wire.CodeData, error) { return wire.CodeData{Data: b[at:], Size: uint64(len(b))}, nil }
	}
	just := func(p wire.CodeData) func(uint64) (wire.CodeData, error) {
		return func(uint64) (wire.CodeData, error) { return p, nil }
	}
	for what, x := range map[string]struct {
		give  func(uint64) (wire.CodeData, error)
		code  fault.Code
		words string
	}{
		"it does not know it": {func(uint64) (wire.CodeData, error) { return wire.CodeData{}, fault.New(fault.NotFound, "gone") }, fault.NotFound, "gone"},
		"too large":           {just(wire.CodeData{Data: []byte("x"), Size: maxSize + 1}), fault.Internal, "it has 1073741825 bytes, at most 1073741824 are allowed"},
		"nothing":             {just(wire.CodeData{Size: 10}), fault.Internal, "the cluster gave 0 bytes behind 0 of 10"},
		"it shrinks meanwhile": {func(at uint64) (wire.CodeData, error) {
			return wire.CodeData{Data: []byte("abc"), Size: 7 - 2*at}, nil
		}, fault.Internal, "the cluster gave 3 bytes behind 3 of 1"},
		"more than there is":    {just(wire.CodeData{Data: []byte("abc"), Size: 5}), fault.Internal, "the cluster gave 3 bytes behind 3 of 5"},
		"no object":             {all([]byte("abc")), fault.Internal, ""},
		"a class and more":      {all(whole(envelope.Value{Fmt: uint8(store.FormatBytes), Bufs: [][]byte{{1}, {2}}})), fault.Internal, "holds no class"},
		"of another format":     {all(whole(envelope.Value{Fmt: uint8(store.FormatPickle), Bufs: [][]byte{{1}}})), fault.Internal, "holds no class"},
		"as large as may be is": {just(wire.CodeData{Size: maxSize}), fault.Internal, "the cluster gave 0 bytes behind 0 of 1073741824"},
	} {
		s.give = x.give
		class, err := Fetch(s, []byte("id"))
		if err == nil || class != nil || fault.CodeOf(err) != x.code && what != "no object" || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFetch_InParts_TheClassIsWhole(t *testing.T) {
	s := new(state)
	_, class, whole := s.class(1, 3000)
	s.give = func(at uint64) (wire.CodeData, error) {
		return wire.CodeData{Data: whole[at:min(at+1000, uint64(len(whole)))], Size: uint64(len(whole))}, nil
	}
	got, err := Fetch(s, []byte("id"))
	if err != nil || !bytes.Equal(got, class) {
		t.Errorf("%d of %d bytes, %v", len(got), len(class), err)
	}
	if want := []uint64{0, 1000, 2000, 3000}; !slices.Equal(s.gets, want) {
		t.Errorf("asked for %v, want %v", s.gets, want)
	}
}
