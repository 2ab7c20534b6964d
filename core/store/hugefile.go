package store

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Where the system gives anonymous shared memory no huge pages, as most do, a file
// system in memory of our own may have them. Mounting it takes a privilege that daemons
// in containers and of ordinary users lack; those that have it, as root, mount it
// nowhere: it has no path, and goes with the last descriptor and mapping of its one file.

const hugePage = 2 << 20

// hugeFile makes a file of the given size on such a file system.
func hugeFile(size uint64) (fd int, err error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("huge pages: %w", err)
	}
	defer unix.Close(fs)
	room := (size + hugePage - 1) / hugePage * hugePage
	for _, option := range [][2]string{{"huge", "always"}, {"size", strconv.FormatUint(room, 10)}, {"mode", "0700"}} {
		if err := unix.FsconfigSetString(fs, option[0], option[1]); err != nil {
			return -1, fmt.Errorf("huge pages: %s: %w", option[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("huge pages: %w", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, fmt.Errorf("huge pages: mount: %w", err)
	}
	defer unix.Close(mount)
	fd, err = unix.Openat(mount, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, fmt.Errorf("huge pages: file: %w", err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("size the arena to %d bytes: %w", size, err)
	}
	return fd, nil
}
