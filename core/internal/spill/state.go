package spill

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// This file has everything that a Store knows. The other files have the methods.

// Options describe a Store.
type Options struct {
	Roots []string // below which directories are made
	Name  string   // of the session
	// Full is the share of a file system that may be used before nothing more is written to
	// it; 0: the size of the file system is the only limit.
	Full float64
	// Cache returns how many bytes of objects on disk may lie in the page cache now; further
	// objects bypass the cache. Nil: no limit.
	Cache func() uint64
	FS    FS // nil: the machine's
}

// Store keeps the objects of one session on disk. See doc.go.
type Store struct {
	fs   FS
	full float64
	dirs []*dir
	seq  atomic.Uint64

	cache  func() uint64
	cached atomic.Int64 // bytes of records that went through the page cache
	cost   cacheCost
	probe  prober

	gone sync.WaitGroup // removals that are going on

	mu     sync.Mutex
	next   int
	uses   uint64
	closed bool
}

// dir is one directory.
type dir struct {
	path       string
	root, name string

	renewing   sync.Mutex
	lock, held *os.File
	removed    bool // the Store is closed, so the directory is not made again

	buffers atomic.Bool // the file system does not transfer without the page cache

	// Guarded by Store.mu:
	bad   error // why the directory is not used; nil: it works
	until time.Time
	begun map[uint64]time.Time // the uses that are going on, by number

	uses sync.WaitGroup // counts the same uses; Close waits for them
}

// use is a write for which a directory was chosen.
type use struct {
	s      *Store
	d      *dir
	number uint64
}

// Record is one object's copy on disk. It lasts until Release.
type Record struct {
	id         ids.Object
	file       *file
	at         int64 // of the header
	size       uint64
	stored     uint64
	compressed bool
	direct     bool // it passed the page cache by; its pages in the file are its own
	sum        uint32
	sums       []uint32 // the checksums of the first part, of the first two, and so on, without that of all; see part.go
	holds      int32    // calls of Hold without their Release; atomic
}

// file is a batch's file; it goes with its last record.
type file struct {
	s    *Store
	path string
	live atomic.Int64
}

// Item is one object to write.
type Item struct {
	ID    ids.Object
	Bytes []byte
}
