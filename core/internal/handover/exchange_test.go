package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// connected returns the two ends of a connection between a worker and its successor.
func connected(t *testing.T) (worker, successor *net.UnixConn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends []*net.UnixConn
	for _, fd := range pair {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		ends = append(ends, c.(*net.UnixConn))
	}
	return ends[0], ends[1]
}

// pipes returns n descriptors to hand over. Gone says whether the other process has closed
// its copies of all that were handed over.
func pipes(t *testing.T, n int) (fds []int, gone func() bool) {
	t.Helper()
	var readers, writers []*os.File
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		readers, writers, fds = append(readers, r), append(writers, w), append(fds, int(w.Fd()))
	}
	return fds, func() bool {
		for i, r := range readers {
			writers[i].Close()
			p := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
			if _, err := unix.Poll(p, 0); err != nil || p[0].Revents&unix.POLLHUP == 0 {
				return false
			}
		}
		return true
	}
}

// A worker sends its snapshot and the descriptors when it has heard the version, and goes on when its successor has taken over.
func TestExchange_SameVersion_TheSuccessorGetsAll(t *testing.T) {
	worker, successor := connected(t)
	fds, gone := pipes(t, 5)
	ended := make(chan error, 1)
	go func() {
		err := AwaitVersion(worker)
		if err == nil {
			err = Send(worker, sound(), fds)
		}
		ended <- err
	}()
	if err := Announce(successor); err != nil {
		t.Fatal(err)
	}
	s, files, err := Receive(successor)
	if err != nil {
		t.Fatal(err)
	}
	want := sound()
	if want.Version = Version; !reflect.DeepEqual(s, want) || len(files) != 5 {
		t.Errorf("the successor gets %+v with %d descriptors", s, len(files))
	}
	select {
	case err := <-ended:
		t.Errorf("the worker goes on before its successor has taken over: %v", err)
	default:
	}
	for _, f := range files {
		f.Close()
	}
	Confirm(successor)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !gone() {
		t.Error("descriptors are open that the successor has closed")
	}
}

// A worker whose successor reads another version hears of both versions and has sent nothing.
func TestAwaitVersion_Other_TheErrorNamesBoth(t *testing.T) {
	for _, version := range []byte{1, Version + 1} {
		worker, successor := connected(t)
		if _, err := successor.Write([]byte{version}); err != nil {
			t.Fatal(err)
		}
		err := AwaitVersion(worker)
		want := fmt.Sprintf("the successor reads snapshots of version %d, and this worker writes version %d", version, Version)
		if !errors.Is(err, ErrOtherVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	worker, successor := connected(t)
	successor.Close()
	if err := AwaitVersion(worker); !errors.Is(err, io.EOF) || errors.Is(err, ErrOtherVersion) {
		t.Errorf("a successor that goes: %v", err)
	}
}

// A successor that cannot take over what it receives keeps none of the descriptors.
func TestReceive_Refused_DescriptorsAreClosed(t *testing.T) {
	good, err := Encode(sound())
	if err != nil {
		t.Fatal(err)
	}
	other := sound()
	other.Version = Version + 1
	for what, x := range map[string]struct {
		body []byte
		fds  int
		want string
	}{
		"no snapshot":           {[]byte{0xc1}, 1, "read what is handed over"},
		"another version":       {encoded(t, other), 5, fmt.Sprintf("version %d, and this successor reads version %d", Version+1, Version)},
		"a descriptor too many": {good, 6, "6 descriptors, not 5"},
		"no descriptor at all":  {good, 0, "0 descriptors, not 5"},
	} {
		worker, successor := connected(t)
		fds, gone := pipes(t, x.fds)
		if err := wire.SendParcel(worker, x.body, fds); err != nil {
			t.Fatal(err)
		}
		s, files, err := Receive(successor)
		if s != nil || files != nil || err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, %d descriptors, %v, want an error with %q", what, s, len(files), err, x.want)
		}
		if !gone() {
			t.Errorf("%s: a descriptor stays open", what)
		}
	}
}

// Handing over fails when the successor goes before it has said that it has taken over.
func TestSend_SuccessorGoes_IsAnError(t *testing.T) {
	worker, successor := connected(t)
	fds, _ := pipes(t, 5)
	go func() {
		_, files, _ := Receive(successor)
		for _, f := range files {
			f.Close()
		}
		successor.Close()
	}()
	if err := Send(worker, sound(), fds); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := Send(worker, sound(), fds); err == nil {
		t.Error("a snapshot is handed over although nobody reads it")
	}
}
