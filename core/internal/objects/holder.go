package objects

import "github.com/eagleray/eagleray/core/ids"

// Holder is a process that writes, pins and waits for objects. The table uses it
// as a key, so a Holder must be comparable.
type Holder interface {
	// Gone reports whether the process has ended. Nobody answers such a process.
	Gone() bool
}

// Notify tells processes something, and asks other nodes. Its methods are called under the lock of the
// Store, so they must not block.
type Notify interface {
	// LetGo asks a process to unpin what it keeps only to be quick the next time.
	LetGo(Holder)
	// Freed tells a process that the owner of an object has freed it, so that
	// the process unpins the object when its program does not look at it.
	Freed(Holder, ids.Object)
	// Lost says that the store will not have an object any more that was being written, or
	// whose file is gone.
	Lost(ids.Object)
	// MayDrop asks whether replicas may be dropped. Answer is called later, once, with an
	// answer for each of the list. It returns those that may go and stay all the same.
	MayDrop(list []ids.Object, answer func(may []bool) (kept []ids.Object))
	// Warn shows a text to the program to which the process belongs.
	Warn(Holder, string)
}

// holdings are the objects that one process holds.
type holdings struct {
	pins     map[ids.Object]*object
	creating map[*object]struct{}
}
