package execute

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// AddCaller notes somebody who has connected, by the hello. Page is the
// descriptor of the page where a lessor reads which task has begun; it stays the
// session's. When the pipe is being read, Greet follows.
func (w *Worker) AddCaller(p Pipe, h *wire.Hello, page int) *Caller {
	c := &Caller{w: w, pipe: p, at: len(w.callers), Addr: h.Addr, leased: h.Role == wire.RoleLease, number: h.LeaseID, tmpls: map[uint64]*Template{}, Job: w.job}
	copy(c.Owner[:], h.OwnerID)
	if len(h.JobID) == ids.JobSize {
		c.Job = ids.Job(h.JobID)
	}
	w.callers = append(w.callers, c)
	if w.page != nil && h.Role == wire.RoleActor {
		c.slot = w.page.Take(c.Owner, uint32(h.LeaseID))
	}
	c.mark = progress.OpenMark(page, h.Slot, h.LeaseID)
	return c
}

// Greet tells a new caller what it has to know before it sends calls: that there
// are concurrency groups, and which of them take no calls for now.
func (w *Worker) Greet(c *Caller) {
	if w.backlog.full {
		c.hold()
	}
	if w.backlog.share == 0 {
		return
	}
	c.tellHeld(&w.main)
	for _, l := range w.groups {
		if l.held {
			c.tellHeld(l)
		}
	}
}

// Socket names the caller's connection.
func (c *Caller) Socket() refs.TaskSocket {
	return refs.TaskSocket{Caller: c.Owner, Addr: c.Addr, Actor: !c.leased, Number: c.number}
}

// Pipe returns the caller's connection.
func (c *Caller) Pipe() Pipe { return c.pipe }

// Frames handles the complete frames at the beginning of b and returns how many
// bytes they were.
func (c *Caller) Frames(b []byte) (int, error) {
	return frame.Each(b, func(f []byte) error { return c.frame(append([]byte(nil), f...)) })
}

func (c *Caller) frame(b []byte) error {
	w := c.w
	r, op, n, err := frame.Open(b)
	if err != nil {
		return err
	}
	switch op {
	case wire.OpAssign:
		assignment, err := frame.ReadAssign(&r)
		if err != nil {
			return err
		}
		w.push(&Call{Caller: c, Assign: assignment})
	case wire.OpTemplate:
		return c.template(&r)
	case wire.OpTask:
		k, err := c.parseTask(&r, n)
		if err != nil {
			return err
		}
		k.traced(trace.Arrived)
		w.arrived(k, len(b))
	case wire.OpTaken:
		seq, taken, err := frame.ReadTaken(&r)
		if err != nil {
			return err
		}
		c.taken(seq, taken)
	case wire.OpWakeup:
		us, err := frame.ReadWakeup(&r)
		if err != nil {
			return err
		}
		c.pipe.HearWakeup(us)
	case wire.OpForget:
		template, err := frame.ReadForget(&r)
		if err != nil {
			return err
		}
		c.forgets(template)
	case wire.OpQuit:
		seq, err := frame.ReadQuit(&r)
		if err != nil {
			return err
		}
		c.quit(seq)
	default:
		return fmt.Errorf("%w: op %d from a caller", wire.ErrBadFrame, op)
	}
	return nil
}

// arrived decides what becomes of a call that has come, whose frame has size bytes.
func (w *Worker) arrived(k *Call, size int) {
	if _, ok := w.early[k.Task]; ok {
		delete(w.early, k.Task)
		w.dismiss(k) // now: what runs may run for long
		return
	}
	if k.Caller.leased && (w.lent || w.late()) {
		k.Caller.giveBack([]*Call{k})
		return
	}
	if !w.hasGroup(k) {
		w.refuse(k)
		return
	}
	w.queued(k, size)
	w.push(k)
}

// template takes what a caller says that its next calls are of.
func (c *Caller) template(r *wire.Reader) error {
	x, err := frame.ReadTemplate(r)
	if err != nil {
		return err
	}
	t := &Template{Kind: x.Kind, Name: x.Name, Method: x.Method, Returns: x.Returns, MaxCalls: x.MaxCalls, Once: x.Once, Flow: x.Flow, Group: x.Group}
	copy(t.FID[:], x.FID)
	c.learns(x.ID, t, x.Blob)
	return nil
}

// parseTask reads a call, whose frame has n elements.
func (c *Caller) parseTask(r *wire.Reader, n int) (*Call, error) {
	x, err := frame.ReadTask(r, n)
	if err != nil {
		return nil, err
	}
	k := &Call{Caller: c, seq: x.Seq, Tmpl: c.tmpls[x.Template], Args: x.Args, Deps: x.Deps}
	if k.Tmpl == nil {
		return nil, fmt.Errorf("%w: task of template %d, which was not sent", wire.ErrBadFrame, x.Template)
	}
	id := ids.NewObject(x.First, c.Owner, c.Job, 1)
	copy(k.Task[:], id[:])
	switch {
	case k.Tmpl.Flow.Mode != 0:
		err = c.feed(k, r)
	case x.More:
		k.again = true
		k.had, err = frame.ReadHad(r, k.Tmpl.Returns)
	}
	return k, err
}

// Gone says that the caller has left. What it asked for and has not begun is dropped.
func (c *Caller) Gone(error) {
	w := c.w
	w.dropCaller(c)
	c.forgetsAll()
	if w.page != nil {
		w.page.Free(c.slot)
		c.slot = progress.Slot{}
	}
	w.wakeFeeds()
	c.mark.Close()
	w.do.CallerLeft(c.Socket())
	var gone []*Call
	w.eachLane(func(l *Lane) {
		keep := l.queue[:0]
		for _, k := range l.queue {
			if k.Caller == c {
				gone = append(gone, k)
			} else {
				keep = append(keep, k)
			}
		}
		clear(l.queue[len(keep):])
		l.queue = keep
	})
	for _, k := range gone {
		w.unqueued(k)
		w.undefer(k)
		w.letGo(k)
	}
}

// dropCaller takes a caller off the list of all callers.
func (w *Worker) dropCaller(c *Caller) {
	last := len(w.callers) - 1
	moved := w.callers[last]
	w.callers[c.at], moved.at = moved, c.at
	w.callers[last] = nil
	w.callers = w.callers[:last]
}
