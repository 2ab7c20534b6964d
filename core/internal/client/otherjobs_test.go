package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// TestReturnID_CallerOfAnotherJob_HasTheCallersJob: its owner looks for it under
// the id that it has made, of which its job is a part.
func TestReturnID_CallerOfAnotherJob_HasTheCallersJob(t *testing.T) {
	in := &execute.Caller{Owner: ids.Owner{5}, Job: ids.JobOf(2)}
	k := &execute.Call{Caller: in}
	first := ids.NewObject(9, in.Owner, in.Job, 1)
	copy(k.Task[:], first[:])
	if got := k.ReturnID(0); got != first {
		t.Errorf("%s, want %s", got, first)
	}
	if got, want := k.ReturnID(2), ids.NewObject(11, in.Owner, in.Job, 3); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBecomeActor_OthersNeedWhatItOwns_Declines: an actor may be killed at any
// moment, and what its process owns would go with it.
func TestBecomeActor_OthersNeedWhatItOwns_Declines(t *testing.T) {
	d := startDaemon(t)
	w, err := d.workerFor(forActor, func(*Client, *Item) {})
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Put(&Value{Fmt: FmtPickle, Meta: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.table.AddBorrower(w.table.Find(id), ids.Owner{7})
	w.mu.Unlock()
	if err := w.BecomeActor(&wire.ActorStart{ActorID: make([]byte, ids.ActorSize)}); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exec.Ended() != wire.ExitDeclines || w.exec.ActorID() != (ids.Actor{}) {
		t.Errorf("it ends for %q, as actor %s", w.exec.Ended(), w.exec.ActorID())
	}
}
