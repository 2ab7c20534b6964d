package actors

import (
	"bytes"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Spec describes an actor to be created.
type Spec struct {
	wire.ActorCreate
	FID     []byte
	Blob    []byte // the pickled class
	Classes []Code // of Fallback, one each
}

// Code is the class that an alternative names, zero for the actor's own.
type Code struct {
	FID  []byte
	Blob []byte
}

// CodeObjects returns the objects that hold classes of the actor, each once.
func (s *Spec) CodeObjects() (list [][]byte) {
	add := func(id []byte) {
		for _, x := range list {
			if bytes.Equal(x, id) {
				return
			}
		}
		if len(id) > 0 {
			list = append(list, id)
		}
	}
	add(s.ActorCreate.Code)
	for _, o := range s.Fallback {
		add(o.Code)
	}
	return list
}
