package objects

import "github.com/eagleray/eagleray/core/ids"

// Place is where the bytes of an object can be read or written: at an offset of
// the arena when Path is empty, else in a file.
type Place struct {
	Off  uint64
	Path string
	// copy says that Path is the object's copy on disk, which is only read there.
	// Otherwise the file was made to stand for memory that the arena did not have.
	copy bool
}

// object is one object of the table.
//
// It lives from its creation until its owner has freed it and nobody pins it.
// Until it is sealed its creator holds it.
type object struct {
	id      ids.Object
	size    uint64
	Place               // where it can be read; empty when it is only on disk
	inArena bool        // Place is in the arena
	disk    diskCopy    // its copy on disk; nil when there is none
	evicted bool        // the copy on disk is the only copy
	wanted  bool        // it was read on disk once since it left the arena, so the next reader gets it in memory
	moving  motion      // what is being done with it
	window  *window     // the range that is being cleared and contains it; nil when there is none
	sealed  bool        // it is written
	freed   bool        // its owner has freed it, or is gone
	replica bool        // another node has it, too
	creator Holder      // who writes it; nil when nobody does
	pins    int         // how many processes have it pinned
	waiters []pinWaiter // the pins that are answered when it can be read

	list         *lru // the list that it is in
	older, newer *object
}

// diskCopy is an object's copy on disk. *spill.Record is one.
type diskCopy interface {
	Size() uint64
	Stored() uint64
	// Raw says where the object's bytes lie uncompressed, if they do.
	Raw() (path string, off uint64, ok bool)
	// Cached reports whether reading it costs no more than a copy in memory.
	Cached() bool
	Release()
}

// motion says what is being done with an object.
type motion uint8

const (
	still     motion = iota
	spilling         // it is being written to disk, and can be read meanwhile
	restoring        // it waits for room in memory, or is being read from disk
	asking           // it is a replica, and goes if the answer says that it may
)

// where says in one word where the object is.
func (o *object) where() string {
	switch {
	case !o.sealed:
		return "creating"
	case o.moving == restoring:
		return "restoring"
	case o.inArena:
		return "arena"
	case o.Path != "" && !o.copy:
		return "file"
	}
	return "spilled"
}

// over reports whether the owner has freed an object that was written: only the
// processes that look at it already have it. An object that is still being written is
// given to those who ask for it, also when its owner has freed it.
func (o *object) over() bool { return o.freed && o.sealed }

// readable reports whether a process can read the object where it is now.
func (o *object) readable() bool { return o.inArena || o.Path != "" }

// onlyOnDisk reports whether the object is only on disk and nobody reads it.
func (o *object) onlyOnDisk() bool { return o.evicted && o.moving == still && o.pins == 0 }

// takeWaiters returns the pins that wait for the object and removes them from it.
func (o *object) takeWaiters() []pinWaiter {
	ws := o.waiters
	o.waiters = nil
	return ws
}

// pinWaiter is a pin that waits until the object is sealed or back in memory.
type pinWaiter struct {
	holder Holder
	done   func(at Place, size uint64, err error)
}

func (w pinWaiter) fail(err error) {
	if !w.holder.Gone() {
		w.done(Place{}, 0, err)
	}
}

// failAll answers pins that cannot be served.
func failAll(ws []pinWaiter, err error) {
	for _, w := range ws {
		w.fail(err)
	}
}
