package actors

import (
	"bytes"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestCodeObjects_EachOnce(t *testing.T) {
	s := Spec{}
	if got := s.CodeObjects(); got != nil {
		t.Errorf("got %q", got)
	}
	s.ActorCreate.Code = []byte("a")
	s.Fallback = []wire.Alternative{{Code: []byte("b")}, {}, {Code: []byte("a")}, {Code: []byte("c")}, {Code: []byte("b")}}
	if got := s.CodeObjects(); string(bytes.Join(got, nil)) != "abc" {
		t.Errorf("got %q", got)
	}
}
