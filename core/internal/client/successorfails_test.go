package client

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A successor refuses what it cannot take over and says why. It keeps none of the descriptors that came with it.
func TestSucceed_MalformedParcel_DescriptorsAreClosed(t *testing.T) {
	d := startDaemon(t)
	good, err := handover.Encode(emptySnapshot())
	if err != nil {
		t.Fatal(err)
	}
	otherVersion := bytes.Clone(good)
	otherVersion[1] = handover.Version + 1 // behind the length of the list
	for what, x := range map[string]struct {
		body []byte
		fds  int
		want string
	}{
		"no snapshot":              {[]byte{0xc1}, 1, "read what is handed over"},
		"another version":          {otherVersion, 2, fmt.Sprintf("the snapshot has version %d, and this successor reads version %d", handover.Version+1, handover.Version)},
		"a descriptor too many":    {good, 2, "2 descriptors, not 1"},
		"no descriptor at all":     {good, 0, "0 descriptors, not 1"},
		"several, and no snapshot": {[]byte{0xc1}, 3, "read what is handed over"},
		"several, and not wanted":  {good, 3, "3 descriptors, not 1"},
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := unixConn(t, pair[0]), unixConn(t, pair[1])
		ended := make(chan error, 1)
		go func() { ended <- Succeed(theirs, d.sock(), "t") }()
		if err := handover.AwaitVersion(ours); err != nil {
			t.Fatalf("%s: the successor does not say which version it reads: %v", what, err)
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
			t.Errorf("%s: the successor says %v, want %q", what, err, x.want)
		}
		for i, r := range readers {
			fds := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
			if n, err := unix.Poll(fds, 0); err != nil || n != 1 || fds[0].Revents&unix.POLLHUP == 0 {
				t.Errorf("%s: descriptor %d of %d is still open in the successor", what, i, x.fds)
			}
			r.Close()
		}
		ours.Close()
	}
}

// emptySnapshot is the snapshot of a worker that has nothing.
func emptySnapshot() *handover.Snapshot {
	return &handover.Snapshot{Refs: refs.Snapshot{Version: refs.SnapshotVersion}, Submit: snapshot.Submitter{Version: snapshot.Version}}
}
