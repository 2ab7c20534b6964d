package spill

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A request for more than the file system has must not take all that is left
// of it for as long as the request is tried: others write there, too.
func TestDisk_AllocateMoreThanThereIs_IsRefusedAndTakesNothing(t *testing.T) {
	f, err := Disk{}.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.(diskFile).Fd())
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil {
		t.Fatal(err)
	}
	// A quarter more, since others may delete files meanwhile.
	if err := f.Allocate(int64(s.Bavail) * s.Bsize / 4 * 5); !IsFull(err) {
		t.Errorf("more than is free: %v", err)
	}
	var have unix.Stat_t
	if err := unix.Fstat(fd, &have); err != nil || have.Blocks != 0 {
		t.Errorf("%v, the file has %d blocks", err, have.Blocks)
	}
	if err := f.Allocate(1 << 20); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if err := f.Allocate(1 << 20); err != nil {
		t.Errorf("1 MiB that the file has: %v", err)
	}
}
