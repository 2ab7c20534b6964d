package notice

import (
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Note is something for the program's user. One of the fields is set.
type Note struct {
	Log     *wire.LogLine // a line that a worker has written
	Warning string
	Error   string // a failure that nobody has fetched
	Closed  string // why the session has ended; nothing comes after it
}

// maxNotes bounds what waits for a program that does not print.
const maxNotes = 100_000

// Notes is a queue of notes. Init makes it usable.
type Notes struct {
	mu   sync.Mutex
	list []Note
	wake chan struct{}
	lost int // notes that found no room
}

// Init makes a queue usable.
func (n *Notes) Init() { n.wake = make(chan struct{}, 1) }

// Add puts a note into the queue. In a full queue it is only counted.
func (n *Notes) Add(x Note) {
	n.put(x)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Notes) put(x Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) >= maxNotes {
		n.lost++
	} else {
		n.list = append(n.list, x)
	}
}

// Next waits for a note and returns it; nil when the timeout has passed.
func (n *Notes) Next(timeout time.Duration) *Note {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		if x := n.take(); x != nil {
			return x
		}
		select {
		case <-n.wake:
		case <-t.C:
			return nil
		}
	}
}

// take returns the first note, nil when there is none. Behind the last one comes how many were lost.
func (n *Notes) take() *Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) == 0 {
		return nil
	}
	x := n.list[0]
	n.list = n.list[1:]
	if len(n.list) == 0 && n.lost > 0 {
		n.list = append(n.list, Note{Warning: fmt.Sprintf("%d lines of output were dropped: they came faster than the driver prints", n.lost)})
		n.lost = 0
	}
	return &x
}
