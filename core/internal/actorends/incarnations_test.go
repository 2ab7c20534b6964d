package actorends

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIncarnations_End_TellsWhoWaitsWhatHadBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, id := NewIncarnations(), ID{theActor, 1}
		table.Begin(id)
		if !table.Has(id) || table.Has(ID{theActor, 2}) {
			t.Fatal("the table has another incarnation than the one that has begun")
		}
		if !table.Keep(id, begun(t, 5)) {
			t.Fatal("the page of a living incarnation is not kept")
		}
		var told []End
		tell := func(e End) { told = append(told, e) }
		table.Await(id, caller, tell)
		table.Await(id, stranger, tell)
		if len(told) != 0 {
			t.Fatalf("told before the end: %+v", told)
		}
		table.End(id, "killed by signal 9")
		table.End(id, "a second time")
		want := []End{{Known: true, Started: 5, Detail: "killed by signal 9"}, {Known: true, Detail: "killed by signal 9"}}
		if len(told) != 2 || told[0] != want[0] || told[1] != want[1] {
			t.Fatalf("told %+v, want %+v", told, want)
		}
		if table.Await(id, caller, tell); len(told) != 3 || told[2] != want[0] {
			t.Errorf("who asks later is told %+v", told[2:])
		}
		page := begun(t, 1)
		defer page.Close()
		if table.Keep(id, page) {
			t.Error("a page is kept for an incarnation that has ended")
		}
		time.Sleep(kept - time.Second)
		if table.Len() != 1 {
			t.Error("forgotten too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if table.Len() != 0 {
			t.Errorf("%d are left", table.Len())
		}
		if table.Await(id, caller, tell); len(told) != 4 || told[3] != (End{}) {
			t.Errorf("of one that is forgotten: %+v", told[3:])
		}
	})
}

func TestIncarnations_NoPage_NothingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, id := NewIncarnations(), ID{theActor, 1}
		table.Begin(id)
		table.End(id, "exit status 1")
		var told []End
		if table.Await(id, caller, func(e End) { told = append(told, e) }); len(told) != 1 || told[0] != (End{Detail: "exit status 1"}) {
			t.Errorf("told %+v", told)
		}
	})
}

func TestIncarnations_Drop_TellsWhoWaitsThatNothingIsKnown(t *testing.T) {
	table, id := NewIncarnations(), ID{theActor, 1}
	table.Begin(id)
	var told []End
	table.Await(id, caller, func(e End) { told = append(told, e) })
	table.Drop(id)
	table.Drop(id)
	if len(told) != 1 || told[0] != (End{}) || table.Has(id) {
		t.Errorf("told %+v, there: %v", told, table.Has(id))
	}
}
