package client

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
)

// References that come together in one value are a sheaf: they are counted by
// one call, and each has a bit that the program sets when it lets go of it. The
// core looks at those bits when it is told that there are new ones, so that a
// reference which goes costs the program a store and the core no search.
//
// A sheaf is what this process's program holds and nothing more: it ends with
// the program, and a process that moves leaves it behind.

// Sheaf is the program's half: memory that it writes and the core reads.
type Sheaf struct {
	Dead []uint64 // a bit for each reference that the program has let go of
	Told *uint32  // 1 while the program has told of a change that the core has not looked at
	Free func()   // called once, when no bit is looked at any more
}

// What a drop says of a sheaf, instead of a view; the sheaf's number is the object's count.
const (
	DropSome = ^uint64(0) - 1 // bits are new
	DropLast = ^uint64(0) - 2 // all are set, and the program does not touch it any more
)

type sheaf struct {
	Sheaf
	c    *Client
	objs []*refs.Object
	seen []uint64
}

// sheaves are those of all sessions of the process: they may outlive theirs.
var sheaves struct {
	sync.Mutex
	next uint64
	m    map[uint64]*sheaf
}

// ImportAll makes a sheaf of the references of a table that came from elsewhere,
// at a site of the program. The number is what drops of it say.
func (c *Client) ImportAll(table []byte, site uint32, s Sheaf) (number uint64, err error) {
	t, err := parseRefs(table)
	if err == nil && (t.n+63)/64 != len(s.Dead) {
		err = errBadTable // it was written over since the program made its half
	}
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, c.why
	}
	for i, a := range t.addrs {
		if a == c.info.Addr {
			t.addrs[i] = ""
		}
	}
	x := &sheaf{Sheaf: s, c: c, objs: make([]*refs.Object, t.n), seen: make([]uint64, len(s.Dead))}
	for i := range t.n {
		o := c.borrow(t.id(i), t.addrs[t.owner(i)])
		c.table.Ref(o)
		c.arrived(o, site)
		x.objs[i] = o
	}
	c.keepInside(table, x.objs)
	sheaves.Lock()
	defer sheaves.Unlock()
	if sheaves.m == nil {
		sheaves.m = map[uint64]*sheaf{}
	}
	sheaves.next++
	sheaves.m[sheaves.next] = x
	return sheaves.next, nil
}

// lookedAt is a value that the program got: where it lies, and whose it is.
type lookedAt struct {
	id   ids.Object
	from uintptr
	n    uintptr
}

// noteLook notes that the program is getting a value that we borrow and that has a
// table of references; mu held.
func (c *Client) noteLook(o *refs.Object, f *Found) {
	if b := f.Envelope; !o.Owned() && o.Contained() == nil && len(b) > 2 && store.Format(b[2]) == store.FormatPickleRefs {
		c.lastGot = lookedAt{o.ID, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))}
	}
}

// keepInside makes a value that we borrow keep what is inside of it, as it does at
// its owner, when the table is that of the value that was got last. So a program that
// gets it again and again does not borrow and give back all of that each time. It
// is a matter of speed: without it the references are borrowed while they are held.
func (c *Client) keepInside(table []byte, inner []*refs.Object) {
	at := uintptr(unsafe.Pointer(&table[0])) - c.lastGot.from // very large when it lies before
	if c.lastGot.n == 0 || at >= c.lastGot.n {
		return
	}
	if o := c.table.Find(c.lastGot.id); o != nil && !o.Owned() && o.Contained() == nil {
		c.table.ContainAll(o, inner)
	}
	c.lastGot = lookedAt{}
}

// dropSheaf looks at what the program has let go of since the last time. C is
// nil for one whose session is over; else mu held, and carryOut is to follow.
func (c *Client) dropSheaf(number uint64, last bool) {
	sheaves.Lock()
	x := sheaves.m[number]
	if last {
		delete(sheaves.m, number)
	}
	ours := x != nil && x.c == c && c != nil
	sheaves.Unlock()
	if x == nil {
		return
	}
	if ours {
		// First: what changes after we have looked is told again.
		atomic.StoreUint32(x.Told, 0)
		x.each(func(o *refs.Object) {
			if c.unacked > 0 && !c.isHarmless(o) {
				c.dropWait = append(c.dropWait, Drop{Object: o.ID})
			} else {
				c.table.Unref(o, 1)
			}
		})
	}
	if last {
		x.Free()
	}
}

// each calls f with the objects whose bits are new.
func (x *sheaf) each(f func(*refs.Object)) {
	for i := range x.Dead {
		now := atomic.LoadUint64(&x.Dead[i])
		news := now &^ x.seen[i]
		x.seen[i] = now
		for at := i * 64; news != 0; at, news = at+1, news>>1 {
			if news&1 != 0 {
				f(x.objs[at])
			}
		}
	}
}

// leaveSheaves lets go of what a session's sheaves refer to: it is over.
func (c *Client) leaveSheaves() {
	sheaves.Lock()
	defer sheaves.Unlock()
	for _, x := range sheaves.m {
		if x.c == c {
			x.c, x.objs = nil, nil
		}
	}
}

func countSheaves() int {
	sheaves.Lock()
	defer sheaves.Unlock()
	return len(sheaves.m)
}
