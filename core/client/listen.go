package client

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenQueue is how many connections may wait to be accepted; the kernel cuts it to what the system allows.
const listenQueue = 4096

// listenAt listens on a socket at path. net.Listen would do, but reads the
// system's limit from /proc first, in each worker.
func listenAt(path string) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close() // the listener has its own
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	if err := unix.Listen(fd, listenQueue); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(true)
	return ln, nil
}
