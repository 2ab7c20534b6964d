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

// ownMount reports whether a file is one of hugeFile's: only those have a file system
// with a bound.
func ownMount(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.TMPFS_MAGIC && st.Blocks > 0
}

// writePages writes b to huge pages that this process has not mapped yet, one after the
// other while it is in the cache. Writes through the descriptor would wait for other
// processes': the file has one lock. The caller holds use.
func (m *Mapping) writePages(off uint64, b []byte) error {
	rw := m.writableAll()
	for len(b) > 0 {
		n := min(hugePage-off%hugePage, uint64(len(b)))
		if rw == nil || populate(rw[off&^(pageSize-1):off+n]) != nil {
			if err := m.pwrite(off, b[:n]); err != nil {
				return err
			}
		} else {
			move(rw[off:off+n], b[:n])
			// The granules at its ends, too: they lie in the same huge pages.
			m.note(off&^(granule-1), min((off+n+granule-1)&^(granule-1), m.size&^(granule-1))-off&^(granule-1), pagesMapped)
		}
		off, b = off+n, b[n:]
	}
	return nil
}

// known reports whether the range's pages are mapped to be written.
func (m *Mapping) known(off, size uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == nil {
		return false
	}
	for i := off / granule; i < (off+size+granule-1)/granule; i++ {
		if m.state[i] != pagesMapped {
			return false
		}
	}
	return true
}
