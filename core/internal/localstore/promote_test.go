package localstore

import (
	"errors"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// small makes objects whose values lie in this process.
func (n *node) small(count int) (list []*refs.Object) {
	for i := range count {
		o := n.table.New(0, 1)
		n.table.PutInline(o, []byte{byte(i), 1, 2}, 3)
		list = append(list, o)
	}
	return list
}

// promotes runs a promotion; reply says what the daemon answers for the i-th value.
func (n *node) promotes(list []*refs.Object, reply func(i int) (wire.ObjPlace, error)) (most int, err error) {
	p := n.s.Promote(list)
	i := 0
	for p.Next() {
		most = max(most, len(n.rooms))
		r := n.rooms[0]
		n.rooms = n.rooms[1:]
		r.Placed(reply(i))
		i++
		p.Write(<-p.Rooms())
	}
	return most, n.s.Promoted(p)
}

// Many values move with a bounded number of requests under way, and each comes to its own place.
func TestPromote_Many_AllMove(t *testing.T) {
	n := newNode(t, false)
	list := n.small(3 * promoteOpen)
	most, err := n.promotes(list, func(i int) (wire.ObjPlace, error) { return place(uint64(i)), nil })
	if err != nil || most != promoteOpen || len(n.sealed) != len(list) {
		t.Fatalf("%v; %d requests at a time, %d sealed", err, most, len(n.sealed))
	}
	for i, o := range list {
		b, err := n.s.mapping.Slice(uint64(i)<<16, 3)
		if o.State() != refs.Stored || err != nil || b[0] != byte(i) || b[2] != 2 {
			t.Fatalf("value %d: state %v, %v, %v", i, o.State(), b, err)
		}
	}
	if _, err := n.promotes(nil, nil); err != nil {
		t.Error(err)
	}
}

// When one cannot move no more requests are made, and what was created is written all the same.
func TestPromote_StoreIsFull_WhatWasCreatedIsSealed(t *testing.T) {
	n := newNode(t, false)
	list := n.small(3 * promoteOpen)
	answered := 0
	_, err := n.promotes(list, func(i int) (wire.ObjPlace, error) {
		answered++
		if i == 1 || i == 2 {
			return wire.ObjPlace{}, fault.New(fault.StoreFull, "full at %d", i)
		}
		return place(uint64(i)), nil
	})
	if fault.CodeOf(err) != fault.StoreFull || err.Error() != "full at 1" {
		t.Errorf("%v", err)
	}
	if answered != promoteOpen+1 || len(n.sealed) != answered-2 {
		t.Errorf("%d were asked for, %d sealed", answered, len(n.sealed))
	}
	for i, o := range list {
		if moved := o.State() == refs.Stored; moved != (i < answered && i != 1 && i != 2) {
			t.Errorf("value %d moved: %v", i, moved)
		}
	}
}

// A value that another task has moved counts as moved. After the session's end its reason is told.
func TestPromote_MovedByAnotherTask_IsMoved(t *testing.T) {
	n := newNode(t, false)
	list := n.small(1)
	exists := func(int) (wire.ObjPlace, error) {
		return wire.ObjPlace{}, fault.New(fault.AlreadyExists, "there is one")
	}
	if _, err := n.promotes(list, exists); err != nil || list[0].State() != refs.Stored || len(n.sealed)+len(n.freed) != 0 {
		t.Errorf("%v, state %v, %d sealed", err, list[0].State(), len(n.sealed))
	}
	ended := errors.New("the session ended")
	n.s.End(ended)
	if _, err := n.promotes(n.small(1), exists); !errors.Is(err, ended) {
		t.Errorf("%v", err)
	}
}

// The answer to a check is the one of the daemon.
func TestCheck_Answer_IsTold(t *testing.T) {
	n := newNode(t, false)
	list := n.list(2, 100)
	c := n.s.AskCheck(list)
	if q := c.IDs(); len(q) != 2 || string(q[1]) != string(list[1].ID[:]) {
		t.Errorf("%x", q)
	}
	n.checks[0].Answered([][]byte{raw(list[1].ID)}, errStore)
	<-c.Done()
	if lacks, err := c.Lacks(); len(lacks) != 1 || !errors.Is(err, errStore) {
		t.Errorf("%x, %v", lacks, err)
	}
}
