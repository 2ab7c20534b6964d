package objects

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// request waits for room in memory: for a new object, or for one that comes back
// from disk.
type request struct {
	holder  Holder
	id      ids.Object
	size    uint64
	restore *object            // the object that comes back; nil for a new object
	done    func(Place, error) // answers the request for a new object
	since   time.Time          // when it began to wait
	window  *window            // the range that is being cleared for it; nil when there is none
	cleared int                // how many ranges could not be cleared for it after all
	making  bool               // a file is being made for it
	dead    bool               // it was answered, or its process is gone
	blocked time.Time          // since when nothing can leave the arena for it
	retry   time.Time          // no file is made for it before, because the disks hang
	warned  time.Time          // its program is not warned again before
}

// window is a range of the arena that is being cleared for a large request.
// Nobody else gets a part of it meanwhile.
type window struct {
	request *request
	start   uint64
	parts   []uint64  // the offsets of the parts that are clear
	objects []*object // the objects that were in it at the start
	missing int       // how many of them have not left yet
}

// take notes that an object has left the window.
func (k *window) take(o *object) {
	o.window = nil
	k.parts = append(k.parts, o.Off)
	k.missing--
}

// queues are the requests that wait, by process. The processes take turns.
type queues struct {
	byHolder map[Holder][]*request
	turns    []Holder
	waiting  int       // how many requests wait
	changed  bool      // something changed since the last look at the requests
	pumping  bool      // pump is running
	asked    time.Time // when processes were last asked to unpin
	// grace is how long a request waits for pins to go before a file is made for it.
	grace time.Duration
}
