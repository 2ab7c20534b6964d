package pipes

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPipe_BytesGoBothWays(t *testing.T) {
	w := newWorld(t, 0)
	caller, target, _, _ := w.joined(wire.RoleLease)
	for range 3 {
		say(t, caller, "question")
		hear(t, target, "question")
		say(t, target, "answer")
		hear(t, caller, "answer")
	}
}

// Every byte arrives once and in order, in parts of any size, while both sides write.
func TestPipe_MuchInBothDirections_ArrivesAsItWas(t *testing.T) {
	w := newWorld(t, 0)
	caller, target, _, _ := w.joined(wire.RoleLease)
	die := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		b := make([]byte, 3<<20)
		for i := range b {
			b[i] = byte(die.Uint32())
		}
		return b
	}
	sizes := []int{1, 100, smallBuffer - 1, smallBuffer, smallBuffer + 1, largeBuffer, 3 * largeBuffer}
	write := func(c net.Conn, b []byte, seed uint64) {
		die := rand.New(rand.NewPCG(seed, 2))
		for len(b) > 0 {
			n := min(len(b), sizes[die.IntN(len(sizes))])
			if _, err := c.Write(b[:n]); err != nil {
				t.Error(err)
				return
			}
			b = b[n:]
		}
	}
	there, back := text(), text()
	go write(caller, there, 3)
	go write(target, back, 4)
	heard := make(chan []byte)
	read := func(c net.Conn) {
		b := make([]byte, len(there))
		if _, err := io.ReadFull(c, b); err != nil {
			t.Error(err)
		}
		heard <- b
	}
	go read(target)
	if got := <-heard; !bytes.Equal(got, there) {
		t.Error("other bytes came to the target")
	}
	go read(caller)
	if got := <-heard; !bytes.Equal(got, back) {
		t.Error("other bytes came to the caller")
	}
}

// Each way in which a pipe may end: what was written before arrives, then both processes see the end.
func TestPipe_Ends(t *testing.T) {
	for name, x := range map[string]struct {
		end              func(w *world, caller, target *net.UnixConn, from, to ids.Owner)
		toCaller, toward string // what arrives before the end
	}{
		"the caller closes": {func(_ *world, caller, _ *net.UnixConn, _, _ ids.Owner) { caller.Close() }, "", "question"},
		"the target closes": {func(_ *world, _, target *net.UnixConn, _, _ ids.Owner) { target.Close() }, "answer", ""},
		"the caller has died, and its child keeps the socket": {func(w *world, _, _ *net.UnixConn, from, _ ids.Owner) { w.a.dies(from) }, "", "question"},
		"the target has died, and its child keeps the socket": {func(w *world, _, _ *net.UnixConn, _, to ids.Owner) { w.b.dies(to) }, "answer", ""},
		"the other node has died":                             {func(w *world, _, _ *net.UnixConn, _, _ ids.Owner) { w.cut() }, "", ""},
		"the caller's daemon ends":                            {func(w *world, _, _ *net.UnixConn, _, _ ids.Owner) { w.a.pipes.Close() }, "", ""},
		"the target's daemon ends":                            {func(w *world, _, _ *net.UnixConn, _, _ ids.Owner) { w.b.pipes.Close() }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			caller, target, from, to := w.joined(wire.RoleLease)
			if x.toward != "" {
				say(t, caller, x.toward)
			}
			if x.toCaller != "" {
				say(t, target, x.toCaller)
			}
			x.end(w, caller, target, from, to)
			if name != "the caller closes" {
				ends(t, caller, x.toCaller)
			}
			if name != "the target closes" {
				ends(t, target, x.toward)
			}
			w.over()
		})
	}
}

// fill writes to a connection until nothing more is taken, and returns what was written.
func fill(t *testing.T, c net.Conn) (all []byte) {
	t.Helper()
	words := bytes.Repeat([]byte("last words "), 1000)
	for len(all) < 64<<20 {
		_ = c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := c.Write(words)
		if all = append(all, words[:n]...); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			return all
		}
	}
	t.Fatal("64 MiB went to a process that does not read")
	return nil
}

// A process that has written its last words and ended before the other end reads them is heard,
// also when what is sent to it meanwhile cannot be delivered any more.
func TestPipe_ProcessEndsBehindMuchThatItWrote_AllArrives(t *testing.T) {
	for name, ends := range map[string]func(w *world, target *net.UnixConn, to ids.Owner){
		"it closes its socket":            func(_ *world, target *net.UnixConn, _ ids.Owner) { target.Close() },
		"it dies":                         func(w *world, target *net.UnixConn, to ids.Owner) { target.Close(); w.b.dies(to) },
		"it dies, a child keeps its end":  func(w *world, _ *net.UnixConn, to ids.Owner) { w.b.dies(to) },
		"it is dead before it is noticed": func(w *world, target *net.UnixConn, to ids.Owner) { w.b.dies(to); target.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0)
			caller, target, _, to := w.joined(wire.RoleActor)
			words := fill(t, target)
			ends(w, target, to)
			for range 10 { // nobody reads this any more: the far end notices that
				say(t, caller, "question")
				time.Sleep(2 * time.Millisecond)
			}
			got, err := io.ReadAll(caller)
			if err != nil && !errors.Is(err, unix.ECONNRESET) || !bytes.Equal(got, words) {
				t.Errorf("%d of %d bytes, %v", len(got), len(words), err)
			}
			w.over()
		})
	}
}

// A process that closes one direction has ended the pipe, although it reads no more.
func TestPipe_ProcessWritesNoMore_Ends(t *testing.T) {
	w := newWorld(t, 0)
	caller, target, _, _ := w.joined(wire.RoleLease)
	fill(t, caller)
	if err := target.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	ends(t, caller, "")
	w.over()
}

// The target is known to be dead before it has taken the connection.
func TestPipe_TargetIsNotThere_EndsAtOnce(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	ends(t, w.a.calls(from, ids.NewWorkerOn(2).Owner(), wire.RoleLease), "")
	ends(t, w.a.calls(from, ids.NewWorkerOn(9).Owner(), wire.RoleLease), "")
	if got, want := w.a.refusal(), "open a stream to node 9: it is dead"; !bytes.Contains([]byte(got), []byte(want)) {
		t.Errorf("refused: %q, want %q", got, want)
	}
	w.over()
}

// A process that takes no connection for a while is not dead: the pipe waits for it.
func TestPipe_TargetTakesNoConnection_WaitsWhileItLives(t *testing.T) {
	w := newWorld(t, 0)
	from, to, dead := w.a.process(), w.b.process(), w.b.process()
	late, never := w.a.calls(from, to, wire.RoleLease), w.a.calls(from, dead, wire.RoleControl)
	say(t, late, "early")
	eventually(t, "it is tried again", func() bool {
		w.b.mu.Lock()
		defer w.b.mu.Unlock()
		return w.b.asked >= 10
	})
	target, _ := accept(t, w.b.listen(to))
	hear(t, target, "early")
	w.b.dies(dead)
	ends(t, never, "")
}

// Whoever got a reference from a process registers with its owner before the owner hears that
// the process has ended, or that its node is lost. Nobody waits for a task's pipe, or to hear that an owner's node is lost.
func TestPipe_OfAControlConnection_LingersBehindItsProcess(t *testing.T) {
	const linger = 400 * time.Millisecond
	for name, x := range map[string]struct {
		role  string
		end   func(w *world, caller, target *net.UnixConn) (other *net.UnixConn)
		waits bool // the other process sees the end after linger
		stays bool // the pipe is gone after linger
	}{
		"the caller ends":         {wire.RoleControl, func(_ *world, c, t *net.UnixConn) *net.UnixConn { c.Close(); return t }, true, true},
		"the target ends":         {wire.RoleControl, func(_ *world, c, t *net.UnixConn) *net.UnixConn { t.Close(); return c }, true, true},
		"the caller of tasks":     {wire.RoleLease, func(_ *world, c, t *net.UnixConn) *net.UnixConn { c.Close(); return t }, false, false},
		"the worker of tasks":     {wire.RoleLease, func(_ *world, c, t *net.UnixConn) *net.UnixConn { t.Close(); return c }, false, false},
		"an actor":                {wire.RoleActor, func(_ *world, c, t *net.UnixConn) *net.UnixConn { t.Close(); return c }, false, false},
		"the node of the target":  {wire.RoleControl, func(w *world, c, _ *net.UnixConn) *net.UnixConn { w.cut(); return c }, false, true},
		"the node of the caller":  {wire.RoleControl, func(w *world, _, t *net.UnixConn) *net.UnixConn { w.cut(); return t }, true, true},
		"a caller of a lost node": {wire.RoleLease, func(w *world, _, t *net.UnixConn) *net.UnixConn { w.cut(); return t }, false, false},
		"the daemon of the other": {wire.RoleControl, func(w *world, c, _ *net.UnixConn) *net.UnixConn { w.b.pipes.Close(); return c }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, linger)
			caller, target, _, _ := w.joined(x.role)
			began := time.Now()
			other := x.end(w, caller, target)
			ends(t, other, "")
			seen := time.Since(began)
			w.over()
			if gone := time.Since(began); (seen >= linger) != x.waits || (gone >= linger) != x.stays {
				t.Errorf("the other process saw the end after %v, and the pipe was gone after %v; linger is %v", seen, gone, linger)
			}
		})
	}
}

// A process that is gone when its pipe begins is heard too, although a child keeps its socket open.
func TestNear_ProcessIsGoneAlready_PipeEnds(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	w.a.dies(from)
	to, l := w.b.listens()
	caller := w.a.calls(from, to, wire.RoleLease)
	target, _ := accept(t, l)
	ends(t, target, "")
	ends(t, caller, "")
	w.over()
}

// A connection that comes when the pipe has been closed is closed.
func TestEnd_ConnectionComesAfterClose_IsClosed(t *testing.T) {
	w := newWorld(t, 0)
	ours, theirs := w.pair()
	e := &end{p: w.a.pipes, left: make(chan struct{})}
	e.close()
	e.hold(theirs)
	ends(t, ours, "")
}

// Close does not wait for what lingers.
func TestClose_PipeLingers_EndsAtOnce(t *testing.T) {
	w := newWorld(t, time.Hour)
	caller, target, _, _ := w.joined(wire.RoleControl)
	target.Close()
	for range 10 { // nobody reads this any more: the far end notices that
		say(t, caller, "question")
		time.Sleep(2 * time.Millisecond)
	}
	if n := w.b.pipes.Len(); n != 1 {
		t.Errorf("%d ends are left, want the one that lingers", n)
	}
	w.b.pipes.Close()
	if n := w.b.pipes.Len(); n != 0 {
		t.Errorf("Close has returned, and %d ends are left", n)
	}
	ends(t, caller, "")
	w.over()
}
