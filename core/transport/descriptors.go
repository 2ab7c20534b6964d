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
