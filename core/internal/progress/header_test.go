package progress

import "testing"

// Each part of the header has to be right by itself, or nothing is believed.
func TestPage_OnePartOfTheHeaderWrong_NothingIsRead(t *testing.T) {
	for what, spoil := range map[string]func(h *head, salt uint64){
		"the magic number":        func(h *head, _ uint64) { h.magic++ },
		"the salt":                func(h *head, _ uint64) { h.salt++ },
		"the check of the count":  func(h *head, _ uint64) { h.used ^= 1 << 40 },
		"more slots than a page":  func(h *head, salt uint64) { h.used = checked(uint32(overfull+1), salt) },
		"a count without a check": func(h *head, _ uint64) { h.used = 1 },
	} {
		w, r := pair(t)
		s := w.Take(who(1), 1)
		s.Begin(5)
		if seq, known := r.Read().Of(Caller{who(1), 1}); seq != 5 || !known {
			t.Fatalf("before: %d, %t", seq, known)
		}
		spoil(w.page.head(), r.salt)
		if n := r.Read(); n != nil {
			t.Errorf("%s is wrong, and the page is believed: %+v", what, n)
		}
		if _, known := (*Numbers)(nil).Of(Caller{who(1), 1}); known {
			t.Error("a page that nobody could read tells something")
		}
	}
}

// A slot that was given back belongs to nobody, and the page is still believed.
func TestPage_PlaceGivenBack_OthersAreStillKnown(t *testing.T) {
	w, r := pair(t)
	first, second := w.Take(who(1), 1), w.Take(who(2), 1)
	first.Begin(7)
	second.Begin(8)
	w.Free(first)
	n := r.Read()
	if seq, known := n.Of(Caller{who(2), 1}); seq != 8 || !known {
		t.Errorf("the second caller: %d, %t", seq, known)
	}
	for what, k := range map[string]Caller{"who gave its place back": {who(1), 1}, "a stranger": {who(3), 1}} {
		if seq, known := n.Of(k); seq != 0 || !known {
			t.Errorf("%s: %d, %t", what, seq, known)
		}
	}
}

// The page says by its count that it had more callers than slots; who is named is known all the same.
func TestPage_Overfull_WhoIsNamedIsKnown(t *testing.T) {
	w, r := pair(t)
	for i := range maxSlots {
		s := w.Take(who(i), 1)
		s.Begin(uint32(i + 1))
	}
	if _, known := r.Read().Of(Caller{who(maxSlots), 1}); !known {
		t.Fatal("a full page does not say who is missing")
	}
	w.Take(who(maxSlots), 1)
	n := r.Read()
	if seq, known := n.Of(Caller{who(3), 1}); seq != 4 || !known {
		t.Errorf("a caller with a slot: %d, %t", seq, known)
	}
	if _, known := n.Of(Caller{who(maxSlots), 1}); known {
		t.Error("a caller without a slot is known to have begun nothing")
	}
}
