package core_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// peerPid returns the process at the other end of a socket.
func peerPid(t *testing.T, fd uintptr) int {
	cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		t.Fatal(err)
	}
	return int(cred.Pid)
}
