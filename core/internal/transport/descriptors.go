package transport

import "syscall"

// Descriptor returns the descriptor under a connection or a listener, -1 when
// that is closed or has none.
func Descriptor(x any) int {
	s, ok := x.(syscall.Conn)
	if !ok {
		return -1
	}
	rc, err := s.SyscallConn()
	if err != nil {
		return -1
	}
	out := -1
	if rc.Control(func(fd uintptr) { out = int(fd) }) != nil {
		return -1
	}
	return out
}

// watcher is called for each descriptor that is opened, and before one is closed. It may be nil.
type watcher func(fd int, open bool)

func (w watcher) opened(fd int) {
	if w != nil && fd >= 0 {
		w(fd, true)
	}
}

// closing reports once that a descriptor is about to be closed, and sets the descriptor to -1.
func (w watcher) closing(fd *int) {
	if w != nil && *fd >= 0 {
		w(*fd, false)
	}
	*fd = -1
}
