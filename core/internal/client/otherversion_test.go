package client

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker whose snapshots the daemon's successors do not read changes nothing: it
// stays until nobody needs what it owns, and others get that from it.
func TestExiting_SuccessorReadsAnotherVersion_TheWorkerStays(t *testing.T) {
	d := startDaemon(t)
	asked := make(chan struct{}, 10)
	d.mu.Lock()
	d.takesOver = func(u *net.UnixConn, _ []byte) {
		defer u.Close()
		_ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1)
		_, _ = u.Write([]byte{handover.Version + 1})
		if n, _ := u.Read(make([]byte, 1)); n != 0 {
			t.Error("the worker hands over although its successor reads another version")
		}
		asked <- struct{}{}
	}
	d.mu.Unlock()
	owner, friend := d.member(t, wire.RoleWorker), d.member(t, wire.RoleDriver)
	id := owner.put(t, "value")
	owner.give(t, id, friend)
	ended := make(chan error, 1)
	go func() { ended <- owner.c.Exiting("test") }()
	<-asked
	friend.check(t, id, "value")
	owner.c.mu.Lock()
	if owner.c.Closed() {
		t.Error("the worker has left the session")
	}
	owner.c.mu.Unlock()
	select {
	case err := <-ended:
		t.Fatalf("the worker ends although its object is needed: %v", err)
	default:
	}
	owner.drop(id)
	friend.drop(id)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	owner.c.Close(0)
	friend.c.Close(0)
}

// The error of a move to a successor that reads another version names both versions.
func TestMove_SuccessorReadsAnotherVersion_TheErrorNamesBoth(t *testing.T) {
	d := startDaemon(t)
	asked := 0
	d.mu.Lock()
	d.takesOver = func(u *net.UnixConn, _ []byte) {
		d.mu.Lock()
		asked++
		d.mu.Unlock()
		_ = wire.SendHelloReply(u, wire.HelloReply{Version: wire.Version}, -1)
		_, _ = u.Write([]byte{1}) // what successors wrote that read snapshots without a version
		u.Close()
	}
	d.mu.Unlock()
	owner := d.member(t, wire.RoleWorker)
	owner.put(t, "x")
	owner.c.mu.Lock()
	err := owner.c.move()
	owned, _ := owner.c.table.Len()
	closed := owner.c.Closed()
	owner.c.mu.Unlock()
	want := fmt.Sprintf("the successor reads snapshots of version 1, and this worker writes version %d", handover.Version)
	if !errors.Is(err, handover.ErrOtherVersion) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want an error with %q", err, want)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked != 1 {
		t.Errorf("%d successors were asked for, want 1: another one reads no other version", asked)
	}
	if owned != 1 || closed {
		t.Errorf("the worker owns %d objects, closed: %v", owned, closed)
	}
	go owner.c.Close(0)
}

// A worker says once why it stays, and not at each attempt to move. It does not try
// again when the daemon runs another version, because that does not change.
func TestMoveAttempts_EachReasonIsToldOnce(t *testing.T) {
	full, other := errors.New("no room for a successor"), fmt.Errorf("version 1: %w", handover.ErrOtherVersion)
	var a moveAttempts
	for i, x := range []struct {
		err   error
		tell  bool
		never bool
	}{
		{full, true, false},
		{full, false, false},
		{errors.New("another reason"), true, false},
		{full, true, false},
		{other, true, true},
		{other, false, true},
	} {
		if tell := a.failed(x.err); tell != x.tell || a.never != x.never {
			t.Errorf("attempt %d, %v: the worker tells it: %v, it tries no more: %v", i, x.err, tell, a.never)
		}
	}
}
