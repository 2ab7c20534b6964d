package pipes

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/otheruser"
)

func frameOf(t *testing.T, h wire.Hello) []byte {
	t.Helper()
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is no hello of a process of the node goes nowhere, and says why.
func TestNear_HelloIsWrong_IsRefused(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	to, l := w.b.listens()
	with := func(change func(h *wire.Hello)) []byte {
		h := hello(from, wire.RoleLease)
		change(&h)
		return frameOf(t, h)
	}
	stranger := ids.NewWorkerOn(2).Owner()
	long := binary.LittleEndian.AppendUint32(nil, wire.MaxHandshake+1)
	for name, x := range map[string]struct {
		first  []byte
		target ids.Owner
		want   string
	}{
		"too long":                  {long, to, "frame exceeds its cap: 4097 bytes"},
		"no message":                {[]byte{1, 0, 0, 0, 7}, to, "malformed frame"},
		"of another build":          {with(func(h *wire.Hello) { h.Version++ }), to, "this node version"},
		"without an id":             {with(func(h *wire.Hello) { h.OwnerID = nil }), to, "the caller's id has 0 bytes, not 12"},
		"of another node's process": {with(func(h *wire.Hello) { h.OwnerID = stranger[:] }), to, "which is no process of node 1"},
		"of the daemon":             {with(func(h *wire.Hello) { o := ids.DaemonOn(1); h.OwnerID = o[:] }), to, "which is no process of node 1"},
		"of a driver":               {with(func(h *wire.Hello) { h.Role = wire.RoleDriver }), to, `the role "driver" does not belong there`},
		"a guest of a process":      {with(func(h *wire.Hello) { h.Role = wire.RoleGuest }), to, `the role "guest" does not belong there`},
		"tasks for the daemon":      {with(func(*wire.Hello) {}), ids.DaemonOn(2), `the role "lease" does not belong there`},
		"to a process of this node": {with(func(*wire.Hello) {}), w.a.process(), "that process is on this node"},
	} {
		c := w.a.reaches(x.target, x.first)
		if got := w.a.refusal(); !strings.Contains(got, x.want) {
			t.Errorf("%s: refused: %q, want %q", name, got, x.want)
		}
		answer, _ := io.ReadAll(c)
		if x.target.IsDaemon() != strings.Contains(string(answer), x.want) {
			t.Errorf("%s: the process was told %q", name, answer)
		}
	}
	w.over()
	_ = l.SetDeadline(time.Now())
	if u, err := l.AcceptUnix(); err == nil {
		t.Errorf("something came to the target: %v", u)
	}
}

// A process that says nothing does not keep its connection. It is not held up by the other node:
// the time is measured where the process is.
func TestNear_HelloIsLate_IsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for wire.HelloTimeout")
	}
	t.Parallel()
	w := newWorld(t, 0)
	c := w.a.reaches(ids.NewWorkerOn(2).Owner(), nil)
	began := time.Now()
	ends(t, c, "")
	if took := time.Since(began); took < wire.HelloTimeout-time.Second || took > wire.HelloTimeout+10*time.Second {
		t.Errorf("the connection was closed after %v", took)
	}
	if got := w.a.refusal(); !strings.Contains(got, "timeout") {
		t.Errorf("refused: %q", got)
	}
	w.over()
}

// The other node is believed no more than a process: its hello must fit the stream.
func TestFar_HelloIsWrong_IsRefused(t *testing.T) {
	w := newWorld(t, 0)
	to, l := w.b.listens()
	from := w.a.process()
	lease, asGuest := frameOf(t, hello(from, wire.RoleLease)), frameOf(t, hello(from, wire.RoleGuest))
	for name, x := range map[string]struct {
		first  []byte
		from   uint32
		target ids.Owner
		want   string
	}{
		"too long":                     {binary.LittleEndian.AppendUint32(nil, wire.MaxHandshake+1), 1, to, "frame exceeds its cap: 4097 bytes"},
		"no hello":                     {[]byte{1, 0, 0, 0, 7}, 1, to, "malformed frame"},
		"cut":                          {lease[:9], 1, to, "unexpected EOF"},
		"nothing":                      {nil, 1, to, "EOF"},
		"from another node":            {lease, 3, to, "which is no process of node 3"},
		"to another node":              {lease, 1, ids.NewWorkerOn(3).Owner(), "the process is on node 3, and this is node 2"},
		"tasks for the daemon":         {lease, 1, ids.DaemonOn(2), `the role "lease" does not belong there`},
		"a guest of another node":      {asGuest, 1, ids.DaemonOn(3), "the process is on node 3, and this is node 2"},
		"a guest that is not the peer": {asGuest, 3, ids.DaemonOn(2), "which is no process of node 3"},
	} {
		here, there := w.pair()
		w.b.pipes.Far(there, x.from, x.target)
		if _, err := here.Write(x.first); err != nil {
			t.Fatal(err)
		}
		if name == "cut" || name == "nothing" {
			here.CloseWrite()
		}
		if got := w.b.refusal(); !strings.Contains(got, x.want) {
			t.Errorf("%s: refused: %q, want %q", name, got, x.want)
		}
		_ = here.SetDeadline(time.Now().Add(patience))
		answer, err := io.ReadAll(here)
		if x.target.IsDaemon() != strings.Contains(string(answer), x.want) || err != nil && len(answer) > 0 {
			t.Errorf("%s: the other node was told %q, %v", name, answer, err)
		}
		here.Close()
	}
	w.over()
	_ = l.SetDeadline(time.Now())
	if u, err := l.AcceptUnix(); err == nil {
		t.Errorf("something came to the target: %v", u)
	}
	self := New(Options{Node: 1, Here: w.a, Refused: func(err error) { w.a.refused <- err }})
	t.Cleanup(self.Close)
	here, there := w.pair()
	defer here.Close()
	self.Far(there, 1, w.a.process())
	say(t, here, string(lease))
	if got := w.a.refusal(); !strings.Contains(got, "it comes from this node itself") {
		t.Errorf("refused: %q", got)
	}
}

// A guest's stream is the daemon's from then on.
func TestGuest_ReachesTheDaemon(t *testing.T) {
	w := newWorld(t, 0)
	from := w.a.process()
	c := w.a.calls(from, ids.DaemonOn(2), wire.RoleGuest)
	select {
	case g := <-w.b.guests:
		if ids.Owner(g.hello.OwnerID) != from {
			t.Errorf("the daemon hears %+v", g.hello)
		}
		eventually(t, "the far end is the daemon's", func() bool { return w.b.pipes.Len() == 0 })
		say(t, g.stream, "welcome")
		hear(t, c, "welcome")
		say(t, c, "thanks")
		hear(t, g.stream, "thanks")
		g.stream.Close()
		ends(t, c, "")
	case <-time.After(patience):
		t.Fatal("no guest came")
	}
	w.over()
}

// A node without a network says so to those who wait for an answer.
func TestNear_NoOtherNode_SaysSo(t *testing.T) {
	w := newWorld(t, 0)
	alone := New(Options{Node: 1, Here: w.a})
	t.Cleanup(alone.Close)
	c, near := w.pair()
	defer c.Close()
	alone.Near(near, ids.DaemonOn(2))
	_, _, err := wire.Introduce(c, hello(w.a.process(), wire.RoleGuest))
	if err == nil || !strings.Contains(err.Error(), "the process is on node 2, and this node, whose number is 1, is not connected to any other") {
		t.Errorf("the process was told %v", err)
	}
}

// After Close nothing begins.
func TestClose_LaterPipes_EndAtOnce(t *testing.T) {
	w := newWorld(t, 0)
	w.b.pipes.Close()
	to, _ := w.b.listens()
	ends(t, w.a.calls(w.a.process(), to, wire.RoleLease), "")
	w.a.pipes.Close()
	c, near := w.pair()
	defer c.Close()
	w.a.pipes.Near(near, to)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection of a late process: %v", err)
	}
}

// Processes of nodes of two releases do not talk to each other: the caller's end is refused, and nothing reaches the other node.
func TestNear_NodeOfAnotherRelease_IsRefused(t *testing.T) {
	w := newWorld(t, 0)
	to, l := w.b.listens()
	w.a.pipes.o.Talks = func(node uint32) error {
		if node == to.Node() {
			return errors.New("it is of another release")
		}
		return nil
	}
	for _, target := range []ids.Owner{to, ids.DaemonOn(to.Node())} {
		role := wire.RoleActor
		if target.IsDaemon() {
			role = wire.RoleGuest
		}
		c := w.a.calls(w.a.process(), target, role)
		if got := w.a.refusal(); !strings.Contains(got, target.String()) || !strings.Contains(got, "it is of another release") {
			t.Errorf("refused: %q", got)
		}
		answer, _ := io.ReadAll(c)
		if target.IsDaemon() != strings.Contains(string(answer), "it is of another release") {
			t.Errorf("the process was told %q", answer)
		}
	}
	_ = l.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("the other node's process got a connection")
	}
	select {
	case <-w.b.guests:
		t.Error("the other node's daemon got a guest")
	default:
	}
}

// Where a process of the node should listen another user does: the pipe ends, and nothing is said there.
func TestFar_OtherUserListens_PipeEnds(t *testing.T) {
	w := newWorld(t, 0)
	to := w.b.process()
	l := otheruser.Listen(t, w.b.path(to))
	here, there := w.pair()
	w.b.pipes.Far(there, 1, to)
	if _, err := here.Write(frameOf(t, hello(w.a.process(), wire.RoleLease))); err != nil {
		t.Fatal(err)
	}
	otheruser.HearsNothing(t, l)
	ends(t, here, "")
}
