package workers

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerProcess returns who is at the other end of a connection: its pid, and a pidfd, which is the
// caller's to close, or -1. Where the kernel does not say the pid, it is the one that the process
// has said itself.
func PeerProcess(u *net.UnixConn, said int) (pid, pidfd int) {
	pid, pidfd = said, -1
	control(u, func(fd int) {
		pid = peerPid(fd, said)
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			pidfd = got
			return
		}
		if got, err := unix.PidfdOpen(pid, 0); err == nil {
			pidfd = got
		}
	})
	return pid, pidfd
}

// PeerPid is PeerProcess without the pidfd.
func PeerPid(u *net.UnixConn, said int) (pid int) {
	pid = said
	control(u, func(fd int) { pid = peerPid(fd, said) })
	return pid
}

// control calls f with the descriptor of a connection, unless the connection is closed.
func control(u *net.UnixConn, f func(fd int)) {
	if rc, err := u.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { f(int(fd)) })
	}
}

func peerPid(fd, said int) int {
	if cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Pid > 0 {
		return int(cred.Pid)
	}
	return said
}
