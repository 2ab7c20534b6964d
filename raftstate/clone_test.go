package raftstate

import (
	"bytes"
	"errors"
	"testing"
)

// sink is a snapshot's file that takes so many bytes.
type sink struct {
	bytes.Buffer
	most             int
	closed, canceled bool
}

var errFull = errors.New("the disk is full")

func (s *sink) Write(b []byte) (int, error) {
	if s.Len()+len(b) > s.most {
		return 0, errFull
	}
	return s.Buffer.Write(b)
}
func (s *sink) ID() string    { return "s" }
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }

// A snapshot that cannot be written whole is cancelled, so that nobody takes it for one.
func TestFrozen_Persist_CannotBeWritten_IsCancelled(t *testing.T) {
	m := openLone(t)
	var machine *Machine
	m.fsm.view(func(x *Machine) { machine = x })
	full := &sink{}
	if err := (frozen{machine}).Persist(full); !errors.Is(err, errFull) || !full.canceled || full.closed {
		t.Errorf("got %v, cancelled %v, closed %v", err, full.canceled, full.closed)
	}
	good := &sink{most: 1 << 20}
	if err := (frozen{machine}).Persist(good); err != nil || good.canceled || !good.closed || good.Len() == 0 {
		t.Errorf("got %v, cancelled %v, closed %v", err, good.canceled, good.closed)
	}
	none := &sink{}
	if err := (frozen{}).Persist(none); err != nil || !none.closed || none.Len() != 0 {
		t.Errorf("got %v, closed %v", err, none.closed)
	}
}
