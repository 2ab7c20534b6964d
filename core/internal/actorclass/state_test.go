package actorclass

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// state plays the cluster's state, and the process that creates an actor.
type state struct {
	objects map[ids.Object][]byte // envelopes of the process
	reading int                   // objects that are being read

	parts   []wire.CodePart
	data    []byte
	size    uint64
	dropped []string
	gets    []uint64                               // offsets that were asked for
	have    func(q *wire.CodePart) wire.CodeHave   // nil: what data and size say
	give    func(at uint64) (wire.CodeData, error) // answers TCodeGet
	named   map[string][]byte                      // actors, by their namespace and name
}

func (s *state) CallDaemon(t wire.Type, body, reply any) error {
	switch q := body.(type) {
	case *wire.CodePart:
		part := *q
		part.Data = bytes.Clone(q.Data)
		s.parts = append(s.parts, part)
		if q.Size > 0 && q.Offset == uint64(len(s.data)) {
			s.data, s.size = append(s.data, q.Data...), q.Size
		}
		has := wire.CodeHave{Have: uint64(len(s.data)), Size: s.size}
		if s.have != nil {
			has = s.have(q)
		}
		*reply.(*wire.CodeHave) = has
	case wire.CodeAt:
		s.gets = append(s.gets, q.Offset)
		part, err := s.give(q.Offset)
		*reply.(*wire.CodeData) = part
		return err
	case wire.ActorByName:
		id := s.named[q.Namespace+"/"+q.Name]
		if id == nil {
			return fault.New(fault.NotFound, "no such actor")
		}
		*reply.(*wire.ActorNamed) = wire.ActorNamed{ActorID: id}
	default:
		return fmt.Errorf("nobody is asked %s", t)
	}
	return nil
}

func (s *state) PushDaemon(_ wire.Type, body any) {
	s.dropped = append(s.dropped, string(body.(wire.ActorRef).ActorID))
}

func (s *state) Read(object ids.Object, f func([]byte) error) error {
	b := s.objects[object]
	if b == nil {
		return fault.New(fault.ObjectLost, "object %s is lost", object)
	}
	s.reading++
	defer func() { s.reading-- }()
	return f(b)
}

// class puts an object as a large class is put, and returns the bytes of the whole object.
func (s *state) class(n uint64, size int) (id ids.Object, class, whole []byte) {
	class = make([]byte, size)
	for i := range class {
		class[i] = byte(i >> 10)
	}
	id = ids.NewObject(n, ids.Owner{1}, ids.JobOf(1), 0)
	whole = store.AppendEnvelope(nil, store.FormatBytes, nil, class)
	if s.objects == nil {
		s.objects = map[ids.Object][]byte{}
	}
	s.objects[id] = whole
	return id, class, whole
}

// done fails the test when an object is still being read.
func (s *state) done(t *testing.T) {
	t.Helper()
	if s.reading != 0 {
		t.Errorf("%d objects are still being read", s.reading)
	}
}
