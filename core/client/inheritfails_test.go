package client

import (
	"os"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// What an heir cannot take over it refuses with the reason, and it keeps none of the descriptors that came with it.
func TestInherit_MalformedParcel_DescriptorsAreClosed(t *testing.T) {
	d := startDaemon(t)
	good, err := msgpack.Marshal(new(will))
	if err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		body []byte
		fds  int
		want string
	}{
		"no will":                 {[]byte{0xc1}, 1, "read what is handed over"},
		"a descriptor too many":   {good, 2, "has 2 descriptors, not 1"},
		"no descriptor at all":    {good, 0, "has 0 descriptors, not 1"},
		"several, and no will":    {[]byte{0xc1}, 3, "read what is handed over"},
		"several, and not wanted": {good, 3, "has 3 descriptors, not 1"},
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := unixConn(t, pair[0]), unixConn(t, pair[1])
		ended := make(chan error, 1)
		go func() { ended <- Inherit(theirs, d.sock(), "t") }()
		if _, err := ours.Read(make([]byte, 1)); err != nil {
			t.Fatalf("%s: the heir does not say that it is there: %v", what, err)
		}
		var ends []int
		var readers, writers []*os.File
		for range x.fds {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			readers, writers, ends = append(readers, r), append(writers, w), append(ends, int(w.Fd()))
		}
		if err := wire.SendParcel(ours, x.body, ends); err != nil {
			t.Fatal(err)
		}
		for _, w := range writers {
			w.Close()
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: the heir says %v, want %q", what, err, x.want)
		}
		for i, r := range readers {
			fds := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
			if n, err := unix.Poll(fds, 0); err != nil || n != 1 || fds[0].Revents&unix.POLLHUP == 0 {
				t.Errorf("%s: descriptor %d of %d is still open in the heir", what, i, x.fds)
			}
			r.Close()
		}
		ours.Close()
	}
}
