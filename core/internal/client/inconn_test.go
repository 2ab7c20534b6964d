package client

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// callerOf returns the only caller that a worker has.
func callerOf(t *testing.T, w *Client) (k *execute.Caller) {
	t.Helper()
	waitFor(t, "the worker has one caller", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		list := w.exec.Callers()
		if len(list) == 1 {
			k = list[0]
		}
		return k != nil
	})
	return k
}

// connOf returns the connection of a caller.
func connOf(k *execute.Caller) *transport.Conn { return k.Pipe().(*transport.Conn) }

// cancels tells a worker that a task was cancelled.
func cancels(w *Client, task ids.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exec.Cancel(&wire.Cancel{TaskID: task[:]})
}

// pollsOnce has the worker's program look for work, of which there is none.
func pollsOnce(t *testing.T, w *Client) {
	t.Helper()
	if it, err := w.NextTask(time.Millisecond, ""); it != nil || err != nil {
		t.Errorf("the program gets %+v, %v, want nothing", it, err)
	}
}

// A call of a group that there is not is answered, and is in no queue then.
func TestFrame_CallOfAnUnknownGroup_IsNotQueued(t *testing.T) {
	w := startDaemon(t).programless()
	p := callsInto(t, w, wire.RoleActor, nil)
	in := callerOf(t, w)
	w.mu.Lock()
	reads(t, in, templateOf(1, func(x *frame.Template) { x.Group = "none" }), callOf(7, 1, "a"))
	e := w.exec
	if x := e.Counts(); x.Waiting != 0 || x.Backlog != 0 || x.Running != 0 {
		t.Errorf("%d calls of %d bytes wait, and %d run", x.Waiting, x.Backlog, x.Running)
	}
	w.mu.Unlock()
	pollsOnce(t, w)
	if s := p.reads(); s.op != wire.OpReply || s.reply.Seq != 7 || s.reply.Flags&wire.ReplyAppError == 0 {
		t.Errorf("the caller is told %+v, want that its call has failed", s)
	}
}

// An actor that may restart notes what each caller's connection has begun. The place of a connection that has ended goes to the next one.
func TestGone_CallerOfAnActorThatMayRestart_GivesItsPlaceBack(t *testing.T) {
	fd, r, err := progress.CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer r.Close()
	page, err := progress.OpenActorPage(fd)
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t)
	w := d.programless()
	ready := d.readies()
	w.mu.Lock()
	err = w.exec.BecomeActor(startOf(templateOf(1, nil), callOf(0, 1, "")), page)
	w.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ActorReady(takes(t, w).Token, true, "", nil, nil); err != nil {
		t.Fatal(err)
	}
	<-ready
	for i := range 3 {
		p := callsInto(t, w, wire.RoleActor, func(h *wire.Hello) { h.LeaseID = uint64(i + 1) })
		callerOf(t, w)
		p.send(templateOf(1, nil), callOf(5, 1, "a"))
		it := takes(t, w)
		answers(t, w, it, "b")
		p.isReply(5, 0, "b")
		if seq, known := r.Read().Of(progress.Caller{Owner: p.self, Conn: uint32(i + 1)}); seq != 5 || !known {
			t.Errorf("caller %d: call %d has begun, known: %v", i, seq, known)
		}
		leaves(t, w, p)
		if seq, _ := r.Read().Of(progress.Caller{Owner: p.self, Conn: uint32(i + 1)}); seq != 0 {
			t.Errorf("caller %d has left, and the page names its call %d", i, seq)
		}
	}
}

// A function that the program has loaded stays until the program lets it go, also when its callers have left.
func TestFunction_ItsCallerLeaves_StaysUntilTheProgramUnloadsIt(t *testing.T) {
	for _, loaded := range []bool{true, false} {
		w := startDaemon(t).programless()
		p := callsInto(t, w, wire.RoleLease, nil)
		p.send(templateOf(1, nil), callOf(1, 1, "a"))
		it := takes(t, w)
		if loaded {
			if b, err := w.Function(it.Tmpl.FID); string(b) != "code of f" || err != nil {
				t.Fatalf("%q, %v", b, err)
			}
		}
		answers(t, w, it, "b")
		p.isReply(1, 0, "b")
		leaves(t, w, p)
		b, err := w.Function(it.Tmpl.FID)
		if loaded && (string(b) != "code of f" || err != nil) || !loaded && fault.CodeOf(err) != fault.Internal {
			t.Errorf("loaded before: %v, the function is now %q, %v", loaded, b, err)
		}
		w.Unload(it.Tmpl.FID)
		if b, err := w.Function(it.Tmpl.FID); fault.CodeOf(err) != fault.Internal {
			t.Errorf("a function that was unloaded is %q, %v", b, err)
		}
	}
}
