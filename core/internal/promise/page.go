package promise

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageSize is the size of the page in bytes.
const pageSize = 4 << 10

// words are what the page has.
type words struct {
	magic uint64
	until int64 // nanoseconds of the boot time
}

const magic = 0x4c4947484e4f5745

// mapping is the page in this process.
type mapping struct{ mem []byte }

func (m *mapping) words() *words { return (*words)(unsafe.Pointer(&m.mem[0])) }

func (m *mapping) until() time.Duration {
	return time.Duration(atomic.LoadInt64(&m.words().until))
}

func (m *mapping) close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem) // fails for what is no mapping only
		m.mem = nil
	}
}

// Page is the daemon's side.
type Page struct {
	mapping
	fd int
}

// NewPage makes a page that promises nothing yet.
func NewPage() (p *Page, err error) {
	defer func() {
		if err != nil {
			p, err = nil, fmt.Errorf("make the page of the node's promise: %w", err)
		}
	}()
	fd, err := unix.MemfdCreate("eagleray-promise", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	p = &Page{fd: fd}
	if err = unix.Ftruncate(fd, pageSize); err == nil {
		p.mem, err = unix.Mmap(fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		p.words().magic = magic
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	}
	if err != nil {
		p.Close()
	}
	return p, err
}

// FD returns the descriptor from which workers map the page. It stays the page's.
func (p *Page) FD() int { return p.fd }

// Extend says until when the cluster counts on this node. An earlier time than before changes nothing, and after Revoke nothing does.
func (p *Page) Extend(until time.Duration) {
	for {
		old := atomic.LoadInt64(&p.words().until)
		if old < 0 || int64(until) <= old || atomic.CompareAndSwapInt64(&p.words().until, old, int64(until)) {
			return
		}
	}
}

// Revoke says that the cluster does not count on this node any more, for good.
func (p *Page) Revoke() { atomic.StoreInt64(&p.words().until, math.MinInt64) }

// Close unmaps the page. Workers keep their mappings, in which nothing changes any more.
func (p *Page) Close() {
	p.close()
	_ = unix.Close(p.fd)
}

// View is a worker's side.
type View struct {
	mapping
	now func() time.Duration
}

// Open maps the page that belongs to the descriptor, which stays the caller's. now returns the boot time; nil: the system is asked.
func Open(fd int, now func() time.Duration) (*View, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == nil && seals&unix.F_SEAL_SHRINK == 0 { // a page that shrinks would kill its reader
		err = fmt.Errorf("the descriptor is not such a page")
	}
	v := &View{now: now}
	if err == nil {
		v.mem, err = unix.Mmap(fd, 0, pageSize, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err == nil && v.words().magic != magic {
		v.close()
		err = fmt.Errorf("the descriptor is another page")
	}
	if err != nil {
		return nil, fmt.Errorf("map the page of the node's promise: %w", err)
	}
	_ = unix.Madvise(v.mem, unix.MADV_DONTFORK) // a child that the user's code forks has no business here
	if v.now == nil {
		v.now = bootTime
	}
	return v, nil
}

// Valid reports whether the cluster counts on this node now.
func (v *View) Valid() bool { return v.now() < v.until() }

// Over returns for how long the cluster has not counted on this node; 0: it does. A node on which it never did, or does not any more for good,
// gives the time since the machine was started.
func (v *View) Over() time.Duration {
	now := v.now()
	return max(0, now-max(0, v.until()))
}

// Close unmaps the page.
func (v *View) Close() { v.close() }

func bootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error()) // Linux has had it since 2.6.39
	}
	return time.Duration(t.Nano())
}
