package progress

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// Writer is the worker's side of a page.
type Writer struct {
	page page
	salt uint64
	used int
	free []int
}

// OpenActorPage maps a page that a daemon made for writing. The descriptor stays the caller's.
func OpenActorPage(fd int) (*Writer, error) {
	p, err := mapPage(fd, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	if p.head().magic != magic {
		p.close()
		return nil, fmt.Errorf("map the page of begun calls: the descriptor is not such a page")
	}
	// A child that the user's code forks has no business here.
	_ = unix.Madvise(p.mem, unix.MADV_DONTFORK)
	return &Writer{page: p, salt: p.head().salt}, nil
}

// Slot is the place of one caller's connection. The zero Slot takes numbers and drops them.
type Slot struct {
	at   *slot
	salt uint64
	i    int
}

// Take gives a connection its place. When there is none left the page tells nothing any more
// of those that it does not name.
func (w *Writer) Take(who ids.Owner, conn uint32) Slot {
	var i int
	switch n := len(w.free); {
	case n > 0:
		i = w.free[n-1]
		w.free = w.free[:n-1]
	case w.used < maxSlots:
		i = w.used
		w.used++
		store(&w.page.head().used, checked(uint32(w.used), w.salt))
	default:
		store(&w.page.head().used, checked(uint32(overfull), w.salt))
		return Slot{}
	}
	s := w.page.slot(i)
	store(&s.check, 0)
	s.who, s.conn = who, conn
	store(&s.seq, checked(0, w.salt))
	store(&s.check, identity(who, conn, w.salt))
	return Slot{at: s, salt: w.salt, i: i}
}

// Free gives back the place of a connection that has ended.
func (w *Writer) Free(s Slot) {
	if s.at == nil {
		return
	}
	store(&s.at.check, 0)
	clear(s.at.who[:])
	s.at.conn = 0
	store(&s.at.seq, checked(0, w.salt))
	w.free = append(w.free, s.i)
}

// Begin notes that the call is about to run.
func (s Slot) Begin(seq uint32) {
	if s.at != nil {
		store(&s.at.seq, checked(seq, s.salt))
	}
}
