package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerProcess returns who is at the other end: its pid and a pidfd, or -1.
func peerProcess(u *net.UnixConn, said int) (pid, pidfd int) {
	pid, pidfd = said, -1
	rc, err := u.SyscallConn()
	if err != nil {
		return pid, -1
	}
	_ = rc.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Pid > 0 {
			pid = int(cred.Pid)
		}
		if got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
			pidfd = got
			return
		}
		if got, err := unix.PidfdOpen(pid, 0); err == nil {
			pidfd = got
		}
	})
	return pid, pidfd
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}
