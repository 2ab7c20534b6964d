package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/tests/otheruser"
)

// listen opens a daemon's socket, whose path must be short.
func listen(t *testing.T) (path string, l *net.UnixListener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path, l
}

// pipeEnds makes a pipe whose ends are closed with the test.
func pipeEnds(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// The daemon hears who calls and the caller gets its answer with the
// descriptor; the connection then waits for as long as it is told.
func TestDial_AnswerAndDescriptorArrive(t *testing.T) {
	path, l := listen(t)
	r, w := pipeEnds(t)
	served := make(chan error, 1)
	go func() {
		c, err := l.AcceptUnix()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		h, err := ReadHello(c)
		if err == nil && (h.Version != Version || h.Role != RoleDriver || h.Pid != 7) {
			err = errors.New("another hello")
		}
		if err == nil {
			err = SendHelloReply(c, HelloReply{Version: Version, ArenaBytes: 9}, int(w.Fd()))
		}
		served <- err
		_, _ = io.Copy(io.Discard, c)
	}()
	c, reply, fd, err := Dial(path, Hello{Version: Version, Role: RoleDriver, Pid: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := soon(t, "the handshake", served); err != nil {
		t.Fatal(err)
	}
	if fd < 0 || reply.ArenaBytes != 9 {
		t.Fatalf("got descriptor %d, %+v", fd, reply)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("a child would inherit the descriptor: %d, %v", flags, err)
	}
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		t.Error(err)
	}
	unix.Close(fd)
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil || b[0] != 'x' {
		t.Errorf("the descriptor is another one: %q, %v", b, err)
	}
}

// What the daemon refuses is told with its code; a context that ends ends the attempt.
func TestDial_RefusedOrGivenUp(t *testing.T) {
	if _, _, fd, err := Dial(filepath.Join(t.TempDir(), "none"), Hello{}); !errors.Is(err, os.ErrNotExist) || fd != -1 {
		t.Errorf("no socket: got %d, %v", fd, err)
	}
	path, l := listen(t)
	refuse := make(chan error)
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if cause := <-refuse; cause != nil {
				if _, err := ReadHello(c); err == nil {
					_ = RefuseHello(c, cause)
				}
			} else {
				_, _ = io.Copy(io.Discard, c) // it does not answer
			}
			c.Close()
		}
	}()
	go func() { refuse <- fault.New(fault.VersionMismatch, "too old") }()
	c, _, fd, err := Dial(path, Hello{})
	if fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), "too old") || c != nil || fd != -1 {
		t.Errorf("refused: got %d, %v", fd, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		refuse <- nil
		cancel()
	}()
	if c, _, fd, err := DialContext(ctx, path, Hello{}); !errors.Is(err, context.Canceled) || c != nil || fd != -1 {
		t.Errorf("given up: got %d, %v", fd, err)
	}
	if _, _, _, err := DialContext(ctx, path, Hello{}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up before: got %v", err)
	}
}

// An answer that is none is an error, also where a descriptor came along.
func TestIntroduce_AnswerThatIsNone_IsAnError(t *testing.T) {
	r, _ := pipeEnds(t)
	reply := func(k Kind, body any) []byte {
		b, err := AppendMessage(nil, k, THello, 1, 0, body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := reply(Reply, HelloReply{})
	for what, c := range map[string]struct {
		answer []byte
		want   error
		code   fault.Code
	}{
		"nothing":            {nil, io.EOF, ""},
		"half a length":      {whole[:2], io.EOF, ""},
		"half a message":     {whole[:len(whole)-1], io.EOF, ""},
		"too large":          {binary.LittleEndian.AppendUint32(nil, MaxControl+1), ErrFrameTooLarge, ""},
		"no message":         {AppendFrame(nil, []byte{0xc0}), ErrBadFrame, ""},
		"a body that is not": {reply(Reply, "text"), nil, fault.BadRequest},
		"a failure is none":  {reply(Failure, "text"), nil, fault.BadRequest},
	} {
		here, daemon := handshakePair(t)
		if len(c.answer) > 0 {
			if _, _, err := daemon.WriteMsgUnix(c.answer, unix.UnixRights(int(r.Fd())), nil); err != nil {
				t.Fatal(err)
			}
		}
		_ = daemon.CloseWrite()
		got, fd, err := Introduce(here, Hello{})
		if fd >= 0 {
			unix.Close(fd)
		}
		if err == nil || got != nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
}

// A daemon refuses a first message that is no hello, and closes what came along.
func TestReadHello_NoHello_IsAnError(t *testing.T) {
	message := func(k Kind, typ Type, body any) []byte {
		b, err := AppendMessage(nil, k, typ, 1, 0, body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, c := range map[string]struct {
		sent []byte
		want error
		code fault.Code
	}{
		"another type":    {message(Request, TObjSeal, nil), ErrBadFrame, ""},
		"a push":          {message(Push, THello, Hello{}), ErrBadFrame, ""},
		"another body":    {message(Request, THello, "text"), nil, fault.BadRequest},
		"no message":      {AppendFrame(nil, []byte{0xc0}), ErrBadFrame, ""},
		"cut":             {message(Request, THello, Hello{})[:9], io.EOF, ""},
		"longer than can": {binary.LittleEndian.AppendUint32(nil, MaxControl), ErrFrameTooLarge, ""},
	} {
		r, w := pipeEnds(t)
		here, daemon := handshakePair(t)
		if _, _, err := here.WriteMsgUnix(c.sent, unix.UnixRights(int(w.Fd())), nil); err != nil {
			t.Fatal(err)
		}
		w.Close()
		_ = here.CloseWrite()
		h, err := ReadHello(daemon)
		if err == nil || h != nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s: got %+v, %v", what, h, err)
		}
		if _, err := io.ReadAll(r); err != nil { // it ends when nobody has the other end
			t.Error(what, err)
		}
	}
}

// Each of the two sides has the whole time again for what comes after the handshake.
func TestHello_DescriptorsAndDeadlines(t *testing.T) {
	r, w := pipeEnds(t)
	here, daemon := handshakePair(t)
	b, err := AppendMessage(nil, Request, THello, 1, 0, Hello{Pid: 3})
	if err != nil {
		t.Fatal(err)
	}
	// The descriptor comes with the length, and another with the rest: the last one counts.
	if _, _, err := here.WriteMsgUnix(b[:4], unix.UnixRights(int(r.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := here.WriteMsgUnix(b[4:], unix.UnixRights(int(w.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	h, fd, err := ReadHelloFD(daemon)
	if err != nil || h.Pid != 3 || fd < 0 {
		t.Fatalf("got %+v, %d, %v", h, fd, err)
	}
	if _, err := unix.Write(fd, []byte("y")); err != nil {
		t.Error(err)
	}
	unix.Close(fd)
	if got, err := io.ReadAll(r); err != nil || string(got) != "y" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := SendHelloReply(daemon, HelloReply{}, -1); err != nil {
		t.Fatal(err)
	}
	in := framer{r: here}
	payload, err := in.next(MaxControl)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := ParseMessage(payload); err != nil || m.Kind != Reply || m.Type != THello || m.ID != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// A socket of another user is told nothing: the hello of a program would be followed by its variables.
func TestDial_OtherUserListens_IsToldNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := otheruser.Listen(t, path)
	if _, _, _, err := Dial(path, Hello{Version: Version, Role: RoleService}); !errors.Is(err, ErrOtherUser) || !strings.Contains(err.Error(), "uid 65534") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	otheruser.HearsNothing(t, l)
}
