package objects

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestObjects_Supersede_ReadersKeepTheOldCopy(t *testing.T) {
	tb := tableOf(1 << 20)
	writer, reader := &proc{}, &proc{}
	owner := ids.NewWorkerOn(1).Owner()
	id := ids.NewObject(1, owner, ids.JobOf(1), 1)
	write := func(size uint64) {
		t.Helper()
		tb.Supersede(writer, id)
		if err := create(tb, writer, id, size); err != nil {
			t.Fatal(err)
		}
		if err := tb.Seal(writer, id); err != nil {
			t.Fatal(err)
		}
	}
	write(10)
	var seen outcome
	tb.Pin(reader, id, seen.done)
	write(20)
	if tb.used != 30 || len(tb.Missing([][]byte{id[:]})) != 0 {
		t.Fatalf("%d bytes used, want those of both copies", tb.used)
	}
	tb.Unpin(reader, id)
	if tb.used != 20 {
		t.Fatalf("%d bytes used after the old copy's reader has gone", tb.used)
	}
	if err := create(tb, writer, id, 5); err == nil {
		t.Fatal("an object was made twice")
	}
	// One that its creator did not finish, and then writes again.
	tb.Free(writer, id)
	if got := tb.Missing([][]byte{id[:]}); len(got) != 1 {
		t.Fatal("a freed object is there")
	}
	if err := create(tb, writer, id, 7); err != nil {
		t.Fatal(err)
	}
	write(9)
	if tb.used != 9 {
		t.Fatalf("%d bytes used", tb.used)
	}
}

// What is let go of while it is written can be had when it is there: it is not lacking until then.
func TestObjects_FreedBeforeTheSeal_IsNotLackingYet(t *testing.T) {
	tb, _ := withDisk(1 << 20)
	owner, writer, reader := &proc{}, &proc{}, &proc{}
	id := owned(1, 1)
	if err := create(tb, writer, id, 1000); err != nil {
		t.Fatal(err)
	}
	tb.Free(owner, id)
	if got := tb.Missing([][]byte{id[:]}); len(got) != 0 {
		t.Error("it is lacking, and who asks for it gets it")
	}
	var o outcome
	tb.Pin(reader, id, o.done)
	if err := tb.Seal(writer, id); err != nil {
		t.Fatal(err)
	}
	if o.n != 1 || o.err != nil {
		t.Errorf("%d answers, %v", o.n, o.err)
	}
	tb.Unpin(reader, id)
	if got := tb.Missing([][]byte{id[:]}); len(got) != 1 || tb.used != 0 {
		t.Errorf("%d lacking, %d bytes used", len(got), tb.used)
	}
}
