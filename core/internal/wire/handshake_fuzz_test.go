package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// connected returns the two ends of a stream between processes.
func connected(t testing.TB) (a, b *net.UnixConn) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*net.UnixConn, 2)
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// said sends bytes, with descriptors on the first of them, and hangs up.
func said(t testing.TB, u *net.UnixConn, b []byte, fds int) {
	var oob []byte
	for range fds {
		oob = append(oob, unix.UnixRights(1)...)
	}
	go func() {
		defer u.Close()
		n := 0
		if len(oob) > 0 && len(b) > 0 {
			if _, _, err := u.WriteMsgUnix(b[:1], oob, nil); err != nil {
				return
			}
			n = 1
		}
		_, _ = u.Write(b[n:]) // the reader may have hung up
	}()
}

// FuzzHello reads what is said first: a hello or its answer, or an error; the descriptor that came is given on.
func FuzzHello(f *testing.F) {
	hello, err := AppendMessage(nil, Request, THello, 1, 0, Hello{Version: Version, Role: RoleDriver, OwnerID: make([]byte, 12)})
	if err != nil {
		f.Fatal(err)
	}
	reply, err := AppendMessage(nil, Reply, THello, 1, 0, HelloReply{Version: Version, Socket: "/x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(hello, uint8(0))
	f.Add(hello, uint8(1))
	f.Add(reply, uint8(2))
	f.Add([]byte{255, 255, 255, 255, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, fds uint8) {
		a, u := connected(t)
		said(t, a, b, int(fds%3))
		h, fd, err := ReadHelloFD(u)
		u.Close()
		if (err == nil) != (h != nil) {
			t.Fatal(h, err)
		}
		if fd >= 0 && unix.Close(fd) != nil {
			t.Fatal("a descriptor that is none")
		}
		a, u = connected(t)
		said(t, a, b, int(fds%3))
		r, fd, err := Introduce(u, Hello{Version: Version})
		u.Close()
		if (err == nil) != (r != nil) {
			t.Fatal(r, err)
		}
		if fd >= 0 && unix.Close(fd) != nil {
			t.Fatal("a descriptor that is none")
		}
	})
}

// FuzzParcel reads a parcel: its bytes and descriptors, or an error that has closed all that came.
func FuzzParcel(f *testing.F) {
	head := func(count, size uint32, body string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, count)
		return append(binary.LittleEndian.AppendUint32(b, size), body...)
	}
	f.Add(head(0, 3, "abc"), uint8(0))
	f.Add(head(1, 3, "\x00abc"), uint8(1))
	f.Add(head(1<<31, 1<<31, "abc"), uint8(2))
	f.Add(head(0, 1<<30, "abc"), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, fds uint8) {
		a, u := connected(t)
		defer u.Close()
		go func() {
			defer a.Close()
			n := min(8, len(b))
			if _, err := a.Write(b[:n]); err != nil {
				return
			}
			for range fds % 3 { // on the bytes that stand for descriptors
				if n < len(b) {
					if _, _, err := a.WriteMsgUnix(b[n:n+1], unix.UnixRights(1), nil); err != nil {
						return
					}
					n++
				}
			}
			_, _ = a.Write(b[n:])
		}()
		body, files, err := ReceiveParcel(u)
		if err != nil && (body != nil && !bytes.HasSuffix(b, body) || files != nil) {
			t.Fatalf("%d bytes and %d descriptors after %v", len(body), len(files), err)
		}
		for _, f := range files {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = io.Copy(io.Discard, u)
	})
}
