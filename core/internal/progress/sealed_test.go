package progress

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A worker cannot make the page shorter or longer: the daemon, which reads it, would fault.
func TestCreate_PageKeepsItsSize(t *testing.T) {
	fd, r, err := CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer r.Close()
	for _, size := range []int64{0, pageSize - 1, pageSize + 1} {
		if err := unix.Ftruncate(fd, size); !errors.Is(err, unix.EPERM) {
			t.Errorf("the page of %d bytes is made %d bytes long: %v", pageSize, size, err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("the worker may add a seal: %v", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Size != pageSize {
		t.Errorf("the page has %d bytes, want %d (%v)", stat.Size, pageSize, err)
	}
}
