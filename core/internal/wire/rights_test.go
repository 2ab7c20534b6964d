package wire

import (
	"testing"

	"golang.org/x/sys/unix"
)

// open says whether a descriptor is open in this process.
func open(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// Of several descriptors the first is taken, and the others are closed: they
// are nobody's.
func TestParseFD_Several_TheFirstIsTakenAndTheOthersAreClosed(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], 0); err != nil {
		t.Fatal(err)
	}
	third, err := unix.Dup(pipe[0])
	if err != nil {
		t.Fatal(err)
	}
	got := parseFD(unix.UnixRights(pipe[0], pipe[1], third))
	defer unix.Close(pipe[0])
	if got != pipe[0] || !open(pipe[0]) {
		t.Fatalf("got descriptor %d, want %d, open", got, pipe[0])
	}
	if flags, err := unix.FcntlInt(uintptr(got), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("a child would inherit it: flags %d, %v", flags, err)
	}
	for _, fd := range []int{pipe[1], third} {
		if open(fd) {
			t.Errorf("descriptor %d stays open", fd)
			unix.Close(fd)
		}
	}
}

func TestParseFD_None_IsMinusOne(t *testing.T) {
	for what, oob := range map[string][]byte{"nothing": nil, "garbage": {1, 2, 3}, "no rights": unix.UnixCredentials(&unix.Ucred{Pid: 1})} {
		if got := parseFD(oob); got != -1 {
			t.Errorf("%s: got %d", what, got)
		}
	}
}
