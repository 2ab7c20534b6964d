package progress

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// Reader is the daemon's side of a page.
type Reader struct {
	page page
	salt uint64
}

// CreateActorPage makes a page. The descriptor is for the worker and the caller's to
// close; it is sealed against resizing, so that reading can never fault.
func CreateActorPage() (fd int, r *Reader, err error) {
	fd, err = unix.MemfdCreate("eagleray-started", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, nil, fmt.Errorf("make a page of begun calls: %w", err)
	}
	r = &Reader{}
	if err = unix.Ftruncate(fd, pageSize); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	var h [24]byte
	if err == nil {
		_, err = rand.Read(h[8:16])
	}
	if err == nil {
		r.salt = binary.NativeEndian.Uint64(h[8:])
		binary.NativeEndian.PutUint64(h[:], magic)
		binary.NativeEndian.PutUint64(h[16:], checked(0, r.salt))
		_, err = unix.Pwrite(fd, h[:], 0)
	}
	if err == nil {
		r.page, err = mapPage(fd, unix.PROT_READ)
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, fmt.Errorf("make a page of begun calls: %w", err)
	}
	return fd, r, nil
}

// Close unmaps the page.
func (r *Reader) Close() { r.page.close() }

// Caller is one connection of a process.
type Caller struct {
	Owner ids.Owner
	Conn  uint32
}

// Numbers are the latest calls that an actor has begun, by connection. Nil: nothing is known.
type Numbers struct {
	latest map[Caller]uint32
	all    bool // who is not there has begun nothing
}

// Read returns what a page of a process that is gone says.
func (r *Reader) Read() *Numbers {
	if r.page.mem == nil {
		return nil
	}
	h := r.page.head()
	used, ok := unchecked(load(&h.used), r.salt)
	if !ok || int(used) > overfull || load(&h.magic) != magic || load(&h.salt) != r.salt {
		return nil
	}
	n := &Numbers{latest: map[Caller]uint32{}, all: int(used) != overfull}
	twice := map[Caller]bool{}
	for i := range min(int(used), maxSlots) {
		s := r.page.slot(i)
		if *s == (slot{seq: checked(0, r.salt)}) {
			continue // given back
		}
		k := Caller{ids.Owner(s.who), s.conn}
		seq, ok := unchecked(load(&s.seq), r.salt)
		if !ok || load(&s.check) != identity(k.Owner, k.Conn, r.salt) {
			n.all = false // it may be anybody's
			continue
		}
		if _, ok := n.latest[k]; ok {
			twice[k] = true
		}
		n.latest[k] = seq
	}
	for k := range twice {
		delete(n.latest, k)
		n.all = false
	}
	return n
}

// Of returns the number of the latest call that was begun for a connection; 0: none. False: not known.
func (n *Numbers) Of(k Caller) (seq uint32, known bool) {
	if n == nil {
		return 0, false
	}
	seq, ok := n.latest[k]
	return seq, ok || n.all
}
