package client

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// RemoteTemplate is a caller's template.
type RemoteTemplate struct {
	Kind     int
	FID      [16]byte
	Name     string
	Method   string
	Returns  int
	MaxCalls int
	Once     bool   // must not run twice: answers leave before the next one starts
	Flow     Flow   // of a generator
	Group    string // concurrency group, see groups.go

	usual time.Duration // its calls ran for, smoothed
}

// inConn is a socket through which somebody calls us.
type inConn struct {
	transport.Conn
	c      *Client
	caller ids.Owner
	job    ids.Job // the caller's, which is not this worker's when an actor is called from another job
	addr   string  // the caller's own socket
	lease  bool
	tmpls  map[uint64]*RemoteTemplate
	slot   progress.Slot    // of an actor's caller, if the actor may restart
	latest uint32           // call that was begun, of an actor
	feeds  map[uint32]*call // generators that it called, by sequence number
	mark   progress.Mark

	flushed time.Time // when answers that share a write left last
}

// welcome takes over a task connection that somebody has opened to this process.
func (e *executor) welcome(fd int, h *wire.Hello, page int) {
	c := e.c
	in := &inConn{c: c, addr: h.Addr, lease: h.Role == wire.RoleLease, tmpls: map[uint64]*RemoteTemplate{}}
	copy(in.caller[:], h.OwnerID)
	in.job = c.info.Job
	if len(h.JobID) == ids.JobSize {
		in.job = ids.Job(h.JobID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		unix.Close(fd)
		return
	}
	e.conns[in] = true
	if e.page != nil && h.Role == wire.RoleActor {
		in.slot = e.page.Take(in.caller, uint32(h.LeaseID))
	}
	in.mark = progress.OpenMark(page, h.Slot, h.LeaseID)
	if err := c.poller.Add(&in.Conn, fd, in); err != nil {
		c.fail(err)
		return
	}
	if e.backlog.full {
		e.hold(in)
	}
	e.greet(in)
	// What came with the hello is read now: the poller was not asked yet.
	in.ReadSoon()
}

// Frames implements transport.Handler.
func (in *inConn) Frames(b []byte) (int, error) {
	return frame.Each(b, func(f []byte) error { return in.frame(append([]byte(nil), f...)) })
}

func (in *inConn) frame(b []byte) error {
	e := in.c.exec
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
		e.push(&call{in: in, assign: assignment})
	case wire.OpTemplate:
		return in.template(&r)
	case wire.OpTask:
		k, err := in.parseTask(&r, n)
		if err != nil {
			return err
		}
		k.stamp(trace.Arrived, in.FD())
		if _, ok := e.early[k.task]; ok {
			delete(e.early, k.task)
			e.dismiss(k) // now: what runs may run for long
			break
		}
		if in.lease && (e.lent || e.late()) {
			in.bounce([]*call{k})
			break
		}
		if !e.hasGroup(k) {
			e.refuse(k)
			break
		}
		e.queued(k, len(b))
		e.push(k)
	case wire.OpTaken:
		seq, taken, err := frame.ReadTaken(&r)
		if err != nil {
			return err
		}
		in.taken(seq, taken)
	case wire.OpWakeup:
		us, err := frame.ReadWakeup(&r)
		if err != nil {
			return err
		}
		in.HearWakeup(us)
	case wire.OpForget:
		template, err := frame.ReadForget(&r)
		if err != nil {
			return err
		}
		in.forgets(template)
	case wire.OpQuit:
		seq, err := frame.ReadQuit(&r)
		if err != nil {
			return err
		}
		in.quit(seq)
	default:
		return fmt.Errorf("%w: op %d from a caller", wire.ErrBadFrame, op)
	}
	return nil
}

// template takes what a caller says that its next calls are of.
func (in *inConn) template(r *wire.Reader) error {
	x, err := frame.ReadTemplate(r)
	if err != nil {
		return err
	}
	t := &RemoteTemplate{Kind: x.Kind, Name: x.Name, Method: x.Method, Returns: x.Returns, MaxCalls: x.MaxCalls, Once: x.Once, Flow: x.Flow, Group: x.Group}
	copy(t.FID[:], x.FID)
	in.learns(x.ID, t, x.Blob)
	return nil
}

// parseTask reads a call, whose frame has n elements.
func (in *inConn) parseTask(r *wire.Reader, n int) (*call, error) {
	x, err := frame.ReadTask(r, n)
	if err != nil {
		return nil, err
	}
	k := &call{in: in, seq: x.Seq, tmpl: in.tmpls[x.Template], args: x.Args, deps: x.Deps}
	if k.tmpl == nil {
		return nil, fmt.Errorf("%w: task of template %d, which was not sent", wire.ErrBadFrame, x.Template)
	}
	id := ids.NewObject(x.First, in.caller, in.job, 1)
	copy(k.task[:], id[:])
	switch {
	case k.tmpl.Flow.Mode != 0:
		err = in.feed(k, r)
	case x.More:
		k.again = true
		k.had, err = frame.ReadHad(r, k.tmpl.Returns)
	}
	return k, err
}

// Gone implements transport.Handler: the caller left. What it asked for and has
// not begun is dropped.
func (in *inConn) Gone(error) {
	e := in.c.exec
	delete(e.conns, in)
	in.forgetsAll()
	if e.page != nil {
		e.page.Free(in.slot)
		in.slot = progress.Slot{}
	}
	e.wakeFeeds()
	in.mark.Close()
	in.c.lookForCaller(in)
	var gone []*call
	e.eachLane(func(l *lane) {
		keep := l.queue[:0]
		for _, k := range l.queue {
			if k.in != in || k.in == nil {
				keep = append(keep, k)
			} else {
				gone = append(gone, k)
			}
		}
		l.queue = keep
	})
	for _, k := range gone {
		e.unqueued(k)
		e.unpark(k)
		in.c.letGoOfArguments(k)
	}
}
