package progress

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// A connection that two places name is not known, as one of them is wrong, and
// then nothing is said of those that no place names; others are known still.
func TestReader_ConnectionNamedTwice_NotKnown(t *testing.T) {
	w, r := pair(t)
	double, single, absent := Caller{ids.Owner{1}, 1}, Caller{ids.Owner{1}, 2}, Caller{ids.Owner{2}, 1}
	expect := func(step string, k Caller, want uint32, wantKnown bool) {
		t.Helper()
		if seq, known := r.Read().Of(k); seq != want || known != wantKnown {
			t.Errorf("%s: connection %d has begun %d, known: %v; want %d, %v", step, k.Conn, seq, known, want, wantKnown)
		}
	}
	first, second := w.Take(double.Owner, double.Conn), w.Take(single.Owner, single.Conn)
	first.Begin(4)
	second.Begin(5)
	expect("named once", double, 4, true)
	expect("not named", absent, 0, true)
	again := w.Take(double.Owner, double.Conn)
	again.Begin(4)
	expect("named twice", double, 0, false)
	expect("beside it", single, 5, true)
	expect("not named beside it", absent, 0, false)
	w.Free(again)
	expect("named once again", double, 4, true)
	expect("not named after it", absent, 0, true)
}

// The zero slot takes numbers and drops them, and given back it is nobody's place.
func TestSlot_Zero_TakesNothing(t *testing.T) {
	w, r := pair(t)
	a := w.Take(ids.Owner{1}, 1)
	a.Begin(3)
	var zero Slot
	zero.Begin(9)
	w.Free(zero)
	w.Take(ids.Owner{2}, 1).Begin(7)
	n := r.Read()
	for k, want := range map[Caller]uint32{{ids.Owner{1}, 1}: 3, {ids.Owner{2}, 1}: 7} {
		if seq, known := n.Of(k); seq != want || !known {
			t.Errorf("%v has begun %d, known: %v; want %d", k, seq, known, want)
		}
	}
}

// What is no page is refused, and a page that was closed tells nothing.
func TestPage_NoneOrClosed(t *testing.T) {
	fd, err := unix.MemfdCreate("no page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, pageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenActorPage(fd); err == nil {
		t.Error("zeros are taken for a page")
	}
	if _, err := OpenActorPage(-1); err == nil {
		t.Error("no descriptor is taken for a page's")
	}
	page, r, err := CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(page)
	r.Close()
	r.Close() // a second time changes nothing
	if n := r.Read(); n != nil {
		t.Errorf("a closed page tells %+v", n)
	}
	if seq, known := (*Numbers)(nil).Of(Caller{}); seq != 0 || known {
		t.Errorf("where nothing is known %d calls were begun, known: %v", seq, known)
	}
}
