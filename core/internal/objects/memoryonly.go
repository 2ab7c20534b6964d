package objects

import "time"

// memoryGrace is how long a full store that spills nothing waits for processes to
// unpin what they keep. Ray waits as long by default.
const memoryGrace = 2 * time.Second

// memoryOnly carries out the orders of a table whose session writes nothing to
// disk. Processes are still asked to unpin what they keep only to be quick the
// next time, and requests wait for that.
type memoryOnly struct{ *waker }

// keepInMemory wires the table of a session that writes nothing to disk.
func (s *Store) keepInMemory(grace time.Duration) {
	if grace == 0 {
		grace = memoryGrace
	}
	s.effects, s.memoryOnly, s.grace = memoryOnly{s.wake}, true, grace
	s.writeAheadFrom = s.capacity
}

// The table of such a session never gives an order to a disk.

func (memoryOnly) write(*batch) { panic("objects: a session that spills nothing has objects written") }
func (memoryOnly) restore(*object, Place) {
	panic("objects: a session that spills nothing restores one")
}
func (memoryOnly) makeFile(*request) { panic("objects: a session that spills nothing makes a file") }
func (memoryOnly) removeFile(string) { panic("objects: a session that spills nothing removes a file") }
