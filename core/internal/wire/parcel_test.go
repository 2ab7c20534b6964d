package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
)

func TestParcel_BytesAndDescriptorsComeInOrder(t *testing.T) {
	for _, count := range []int{0, 1, fdsPerByte, fdsPerByte + 1} {
		a, b := handshakePair(t)
		r, w := pipeEnds(t)
		fds := make([]int, count)
		for i := range fds {
			fds[i] = int(r.Fd())
			if i == count-1 {
				fds[i] = int(w.Fd())
			}
		}
		body := bytes.Repeat([]byte("parcel"), 50_000)
		sent := make(chan error, 1)
		go func() { sent <- SendParcel(a, body, fds) }()
		got, files, err := ReceiveParcel(b)
		if err != nil || !bytes.Equal(got, body) || len(files) != count {
			t.Fatalf("%d descriptors: %d bytes and %d descriptors came, %v", count, len(got), len(files), err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		for i, f := range files {
			if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("a child would inherit descriptor %d: flags %d, %v", i, flags, err)
			}
			if i == count-1 {
				if _, err := f.Write([]byte("x")); err != nil {
					t.Errorf("the last descriptor is not the last one that was sent: %v", err)
				}
			}
			f.Close()
		}
	}
}

// What is not a parcel is an error at once, and no descriptor of it stays open.
func TestReceiveParcel_NoParcel_IsAnErrorAtOnce(t *testing.T) {
	header := func(count, size uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, count), size)
	}
	for what, x := range map[string]struct {
		sent  []byte
		ends  bool // the other end closes behind it
		want  error
		bytes int
	}{
		"more bytes than are allowed":             {header(0, MaxParcel+1), false, ErrFrameTooLarge, 0},
		"a byte without its descriptors":          {append(header(1, 3), 0), false, ErrBadFrame, 0},
		"an end before the descriptors":           {header(1, 3), true, io.EOF, 0},
		"an end in the header":                    {header(1, 3)[:5], true, io.ErrUnexpectedEOF, 0},
		"an end before the last byte of the body": {append(header(0, 3), 1, 2), true, io.ErrUnexpectedEOF, 0},
	} {
		a, b := handshakePair(t)
		if _, err := a.Write(x.sent); err != nil {
			t.Fatal(err)
		}
		if x.ends {
			a.Close()
		}
		if err := b.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, files, err := ReceiveParcel(b); !errors.Is(err, x.want) || files != nil {
			t.Errorf("%s: %d descriptors, %v, want %v", what, len(files), err, x.want)
		}
	}
}

func TestCheckUser_TheSessionsUserAndRoot(t *testing.T) {
	for _, x := range []struct {
		uid, me int
		ok      bool
	}{{7, 7, true}, {0, 7, true}, {7, 0, false}, {8, 7, false}, {0, 0, true}} {
		if err := checkUser(x.uid, x.me); (err == nil) != x.ok {
			t.Errorf("user %d at a session of %d: %v", x.uid, x.me, err)
		}
	}
}

// Who is refused keeps no connection.
func TestDial_Refused_ClosesTheConnection(t *testing.T) {
	path, l := listen(t)
	seen := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			seen <- err
			return
		}
		defer c.Close()
		u := c.(*net.UnixConn)
		if _, err := ReadHello(u); err != nil {
			seen <- err
			return
		}
		if err := RefuseHello(u, fault.New(fault.BadRequest, "no")); err != nil {
			seen <- err
			return
		}
		_ = u.SetReadDeadline(time.Now().Add(10 * time.Second)) // a socket can
		_, err = u.Read(make([]byte, 1))
		seen <- err
	}()
	u, _, fd, err := Dial(path, Hello{Version: Version, Role: RoleControl})
	if err == nil || u != nil || fd != -1 || fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("connection %v, descriptor %d, %v", u, fd, err)
	}
	if err := <-seen; err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the other end sees %v, want the connection's end", err)
	}
}

func TestFramer_Dropped_HasNothingLeft(t *testing.T) {
	f := &framer{buf: []byte{1, 2, 3}, at: 1, end: 3}
	if got := f.rest(); !bytes.Equal(got, []byte{2, 3}) {
		t.Errorf("the rest is %v", got)
	}
	f.drop()
	if got := f.rest(); len(got) != 0 || f.at != 0 || f.end != 0 {
		t.Errorf("the rest is %v, from %d to %d", got, f.at, f.end)
	}
}
