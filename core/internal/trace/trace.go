package trace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Variable names the folder that stamps are written to.
const Variable = "TRACE"

// Sizes of a file, in bytes, and of a ring.
const (
	headSize  = 4096
	stampSize = int(unsafe.Sizeof(Stamp{}))
	capacity  = 1 << 17 // stamps
)

const _ = uint(32-stampSize) + uint(stampSize-32) // as C has it, and as the report reads it

// Stamp is a record of the ring. C writes the same one.
type Stamp struct {
	Ns    int64  // CLOCK_MONOTONIC; 0: of a write that has not returned
	Key   uint64 // the call's count; its token when Owner is 0; a span's beginning
	Owner uint32 // four bytes of the call's owner, see OwnerOf
	Aux   uint32 // a descriptor; of Taken, the token
	Bytes uint32 // of a read or write
	Stage Stage
	Kind  uint16 // 1: of an actor's method
}

// ring is the mapping. C sees the same layout.
type ring struct {
	next   uint64 // how many stamps were ever written
	mask   uint64
	_      [48]byte // stamps begin on a line of the cache
	stamps [capacity]Stamp
}

// On says whether stages are stamped. It is written once, before the first session opens.
var On bool

var (
	opening sync.Mutex
	store   *ring
	zero    time.Time // when the monotonic clock showed zeroNs
	zeroNs  int64
)

// head is what a file begins with, as JSON, in its first headSize bytes.
type head struct {
	Format string   `json:"format"`
	Pid    int      `json:"pid"`
	Role   string   `json:"role"`
	Owner  uint32   `json:"owner"`
	Stamps int      `json:"stamps"`
	Stages []string `json:"stages"`
	CostNs float64  `json:"stamp_ns"` // what a stamp costs here
}

// Open begins to stamp into folder, which is made if it is missing. What is open already stays.
func Open(folder, role string, owner [12]byte) error {
	opening.Lock()
	defer opening.Unlock()
	if On {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("EAGLERAY_TRACE=%s: %w", folder, err)
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-%d.trace", role, os.Getpid()))
	m, err := mapNew(path, headSize+int(unsafe.Sizeof(ring{})))
	if err != nil {
		return fmt.Errorf("EAGLERAY_TRACE=%s: %w", folder, err)
	}
	clear(m) // takes its pages now: later each would stop a call for as long as the file system needs
	store = (*ring)(unsafe.Pointer(&m[headSize]))
	store.mask = capacity - 1
	zero, zeroNs = pairClocks()
	cost := measure()
	b, err := json.Marshal(head{"eagleray trace 1", os.Getpid(), role, OwnerOf(owner), capacity, names[:], cost})
	if err != nil || len(b) >= headSize {
		panic("trace: the head is always encodable and small")
	}
	copy(m, b)
	On = true
	return nil
}

func mapNew(path string, size int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("set the size of %s: %w", path, err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return m, nil
}

// pairClocks finds what CLOCK_MONOTONIC shows at one of Go's times: of several tries the one that took least.
func pairClocks() (at time.Time, ns int64) {
	least := time.Duration(-1)
	for range 20 {
		var ts unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			panic("trace: the system has no monotonic clock: " + err.Error())
		}
		took := time.Since(before)
		if least < 0 || took < least {
			least, at, ns = took, before.Add(took/2), ts.Nano()
		}
	}
	return at, ns
}

// measure says what a stamp costs, in ns, and leaves the ring empty.
func measure() float64 {
	const rounds, n = 5, 1000
	least := time.Duration(-1)
	for range rounds {
		start := time.Now()
		for range n {
			put(Stamp{Ns: now(), Stage: Polled})
		}
		if took := time.Since(start); least < 0 || took < least {
			least = took
		}
	}
	clear(store.stamps[:rounds*n])
	atomic.StoreUint64(&store.next, 0)
	return float64(least.Nanoseconds()) / n
}

// Ring is where C writes, nil when nothing is stamped.
func Ring() unsafe.Pointer {
	opening.Lock()
	defer opening.Unlock()
	return unsafe.Pointer(store)
}

// OwnerOf is what a stamp says of an owner: four bytes behind those of the node, which all its processes share.
func OwnerOf(id [12]byte) uint32 {
	return uint32(id[4])<<24 | uint32(id[5])<<16 | uint32(id[6])<<8 | uint32(id[7])
}

func now() int64 { return zeroNs + int64(time.Since(zero)) }

func put(s Stamp) *Stamp {
	at := &store.stamps[(atomic.AddUint64(&store.next, 1)-1)&(capacity-1)]
	*at = s
	return at
}

// Now is the time in ns, 0 when nothing is stamped.
func Now() int64 {
	if On {
		return now()
	}
	return 0
}

// Call stamps a stage of a call; only when On.
func Call(s Stage, count uint64, owner [12]byte, aux int) {
	put(Stamp{Ns: now(), Key: count, Owner: OwnerOf(owner), Aux: uint32(aux), Stage: s})
}

// CallOf is Call, and says whether it is an actor's method.
func CallOf(s Stage, count uint64, owner [12]byte, method bool) {
	st := Stamp{Ns: now(), Key: count, Owner: OwnerOf(owner), Stage: s}
	if method {
		st.Kind = 1
	}
	put(st)
}

// Write is the stamp of a write that has begun; of none when nothing is stamped.
type Write struct {
	at    *Stamp
	began int64
}

// BeginWrite stamps a write that begins now; only when On. Its end is stamped by End. What it writes can be read, and this
// process be ended, before the write returns: then the stamp keeps 0 as its end.
func BeginWrite(fd int) Write {
	began := now()
	return Write{put(Stamp{Key: uint64(began), Aux: uint32(fd), Stage: Wrote}), began}
}

// End stamps how many bytes were written, and that the write has returned.
func (w Write) End(bytes int) {
	if w.at != nil {
		w.end(bytes)
	}
}

func (w Write) end(bytes int) {
	if w.at.Stage == Wrote && w.at.Key == uint64(w.began) { // else the ring has let go of it
		w.at.Bytes, w.at.Ns = uint32(max(bytes, 0)), now()
	}
}

// Span stamps a read or a poll that began at began and has ended; only when On.
func Span(s Stage, began int64, fd, bytes int) {
	put(Stamp{Ns: now(), Key: uint64(began), Aux: uint32(fd), Bytes: uint32(max(bytes, 0)), Stage: s})
}
