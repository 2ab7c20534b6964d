package client

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

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

// place is where an argument is.
type place struct {
	env  []byte
	id   ids.Object
	size uint64
	addr string
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
	return eachFrame(b, func(f []byte) error { return in.frame(append([]byte(nil), f...)) })
}

func (in *inConn) frame(b []byte) error {
	e := in.c.exec
	r := wire.NewReader(b)
	n := r.Array()
	switch op := wire.Op(r.Uint()); op {
	case wire.OpAssign:
		e.push(&call{in: in, assign: r.Bin()})
	case wire.OpTemplate:
		in.template(&r)
	case wire.OpTask:
		k, err := in.parseTask(&r)
		if err == nil && n > 6 && k.feed == nil {
			k.again = true
			err = k.parseHad(&r)
		}
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
		in.taken(uint32(r.Uint()), r.Uint())
	case wire.OpWakeup:
		in.HearWakeup(r.Uint())
	case wire.OpForget:
		in.forgets(r.Uint())
	case wire.OpQuit:
		in.quit(uint32(r.Uint()))
	default:
		return fmt.Errorf("%w: op %d from a caller", wire.ErrBadFrame, op)
	}
	return r.Err()
}

func (in *inConn) template(r *wire.Reader) {
	id := r.Uint()
	t := &RemoteTemplate{Kind: int(r.Uint())}
	copy(t.FID[:], r.Bin())
	t.Name, t.Method = r.Str(), r.Str()
	t.Returns, t.MaxCalls = int(r.Uint()), int(r.Uint())
	t.Once = r.Uint() == 1
	blob := r.Bin()
	t.Flow.read(r)
	t.Group = r.Str()
	in.learns(id, t, blob)
}

func (in *inConn) parseTask(r *wire.Reader) (*call, error) {
	k := &call{in: in, seq: uint32(r.Uint())}
	tid, first := r.Uint(), r.Uint()
	if k.tmpl = in.tmpls[tid]; k.tmpl == nil {
		return nil, fmt.Errorf("%w: task of template %d, which was not sent", wire.ErrBadFrame, tid)
	}
	id := ids.NewObject(first, in.caller, in.job, 1)
	copy(k.task[:], id[:])
	var err error
	if k.args, err = parsePlace(r); err != nil {
		return nil, err
	}
	n := r.Array()
	for range n {
		p, err := parsePlace(r)
		if err != nil {
			return nil, err
		}
		k.deps = append(k.deps, p)
	}
	if k.tmpl.Flow.Mode != 0 {
		in.feed(k, r)
	}
	return k, r.Err()
}

func parsePlace(r *wire.Reader) (p place, err error) {
	r.Array()
	switch kind := r.Uint(); kind {
	case wire.PlaceInline:
		p.env = r.Bin()
		if p.env == nil {
			p.env = []byte{}
		}
	case wire.PlaceStore:
		if p.id, err = ids.ParseObject(r.Bin()); err != nil {
			return p, fmt.Errorf("%w: %v", wire.ErrBadFrame, err)
		}
		p.size, p.addr = r.Uint(), r.Str()
	default:
		return p, fmt.Errorf("%w: place %d", wire.ErrBadFrame, kind)
	}
	return p, r.Err()
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

// eachFrame hands the complete frames of b to f and returns how many bytes they were.
func eachFrame(b []byte, f func([]byte) error) (used int, err error) {
	for len(b)-used >= 4 {
		n := int(binary.LittleEndian.Uint32(b[used:]))
		if n > wire.MaxData {
			return used, fmt.Errorf("%w: %d bytes", wire.ErrFrameTooLarge, n)
		}
		if len(b)-used-4 < n {
			break
		}
		if err := f(b[used+4 : used+4+n]); err != nil {
			return used, err
		}
		used += 4 + n
	}
	return used, nil
}
