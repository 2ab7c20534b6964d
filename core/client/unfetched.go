package client

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// A failure that nobody looks at would vanish with the last reference to it. So
// this process, which owns the result, tells its user: a driver through a note,
// a worker on its standard error. Object.Seen says that somebody has looked:
// get, wait and await do, a task that takes the result as an argument does, and
// so does another process that asks for it, which then tells of it itself.
// Cancelled work and calls of dead actors are not told of; Ray does neither.

// A user is told of the first failures of a window, and how many more there were.
const (
	unfetchedShown  = 10
	unfetchedWindow = 5 * time.Second
	unfetchedText   = 64 << 10 // bytes of one failure
)

// ignoreUnfetched is the variable that switches it off.
const ignoreUnfetched = "RAY_IGNORE_UNHANDLED_ERRORS"

// unfetched limits how much is told; mu held for all of it.
type unfetched struct {
	off    bool
	tell   func(text string)
	task   uint64 // count of the first return of the task that was told of last
	until  time.Time
	shown  int
	more   int    // of this window, not shown
	latest string // the last line of the latest of them
	timer  *time.Timer
}

// startUnfetched reads the environment; nil for processes that have no user to tell.
func (c *Client) startUnfetched() {
	_, ours := c.setting(strings.TrimPrefix(ignoreUnfetched, "RAY_"))
	u := &c.unfetched
	u.off = ours
	switch {
	case c.opts.Unfetched != nil:
		u.tell = c.opts.Unfetched
	case c.opts.Role == wire.RoleDriver:
		u.tell = func(text string) { c.notes.add(Note{Error: text}) }
	case c.opts.Role == wire.RoleWorker:
		// In a goroutine's own time: a full pipe must not hold mu.
		u.tell = func(text string) { c.says.add(c.labelled(text) + "\n") }
	default:
		u.off = true // a Go service tests the error that it gets; an heir's program has ended
	}
}

// labelled puts the name of the task that runs, or ran last, in front of what a worker says, as its Python half does
// (worker/output.py); mu held. An actor's output has one name, which is written by then.
func (c *Client) labelled(text string) string {
	task, any := c.exec.LastName()
	if !any || c.exec.ActorID() != (ids.Actor{}) || strings.ContainsAny(task, "\r\n") {
		return text
	}
	return "\x1f:name:" + task + "\n" + text
}

// unseen tells of an object that goes and that nobody has looked at; mu held.
func (c *Client) unseen(o *refs.Object) {
	if o.Seen() || !o.Owned() || c.unfetched.off {
		return
	}
	first := o.ID.Count() - uint64(max(o.ID.Index(), 1)-1)
	switch o.State() {
	case refs.Inline:
		c.neverFetched(first, c.makerOf(o), o.Value(), o.Size(), nil)
	case refs.Stored:
		c.neverFetched(first, c.makerOf(o), nil, o.Size(), nil)
	case refs.Failed, refs.Infeasible:
		c.neverFetched(first, c.makerOf(o), nil, 0, o.Fault())
	}
}

// unheld tells of a fault of a task when nobody holds a result of it any more; mu held.
func (c *Client) unheld(t *task, f *fault.Error) {
	if t.returns > 0 && !t.canceled {
		c.neverFetched(t.first, t.tmpl.Name, nil, 0, f)
	}
}

// neverFetched tells of a failure: of an exception in an envelope, of one that is too
// large to be here (value is nil), or of a fault; mu held.
func (c *Client) neverFetched(first uint64, name string, value []byte, size uint64, f *fault.Error) {
	u := &c.unfetched
	if u.off || u.tell == nil || c.closed || first == u.task {
		return
	}
	var text string
	answered := faultOf(value)
	switch {
	case f != nil && !isTold(f.Code):
		return
	case f != nil:
		text = f.Message
	case answered != nil && answered.Code == fault.ActorDied:
		return
	case answered != nil:
		text = name + " failed: " + answered.Message
	case value == nil:
		text = fmt.Sprintf("%s raised an exception of %d bytes, which lay in the object store", name, size)
	default:
		p, err := pointerIn(value)
		switch {
		case p == nil || err != nil:
			text = exceptionText(value, name)
		case len(p.Brief) > 0:
			text = exceptionText(briefly(p.Brief), name)
		default:
			text = fmt.Sprintf("%s failed because of an exception of %d bytes, which lay in the object store", name, p.Size)
		}
	}
	u.task = first
	now := time.Now()
	if now.After(u.until) {
		c.tellMore()
		u.until, u.shown = now.Add(unfetchedWindow), 0
	}
	if u.shown++; u.shown > unfetchedShown {
		u.more++
		u.latest = text[strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1:]
		if u.more == 1 {
			u.timer = time.AfterFunc(unfetchedWindow, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.tellMore()
			})
		}
		return
	}
	u.tell("Unhandled error (suppress with '" + ignoreUnfetched + "=1'): " + text)
}

// faultOf is the fault that a worker has answered with; nil when an envelope has something else.
func faultOf(envelope []byte) *fault.Error {
	e, err := store.Parse(envelope)
	var head []string
	if err != nil || e.Format != store.Format(FmtFault) || msgpack.Unmarshal(e.Meta, &head) != nil || len(head) < 2 {
		return nil
	}
	return fault.New(fault.Code(head[0]), "%s", head[1])
}

// isTold reports whether a fault is worth telling of when nobody has asked.
func isTold(code fault.Code) bool {
	switch code {
	case fault.WorkerCrashed, fault.OutOfMemory, fault.GPUMemoryExceeded, fault.RuntimeEnvSetup, fault.TaskUnschedulable:
		return true
	}
	return false
}

// tellMore says how many were not shown; mu held.
func (c *Client) tellMore() {
	u := &c.unfetched
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if u.more > 0 && !u.off {
		u.tell(fmt.Sprintf("Unhandled errors: %d more within %v that nobody fetched (suppress with '%s=1'); the last one: %s",
			u.more, unfetchedWindow, ignoreUnfetched, strings.TrimSpace(u.latest)))
	}
	u.more = 0
}

// exceptionText is what a person reads of a pickled exception: the head of its envelope
// is plain, see python/eagleray/_private/task_error.py. No code of the exception's runs.
func exceptionText(envelope []byte, name string) string {
	e, err := store.Parse(envelope)
	var head []any
	if err != nil || wire.Check(e.Meta, wire.MaxValues) != nil || msgpack.Unmarshal(e.Meta, &head) != nil || len(head) < 4 {
		return name + " failed"
	}
	part := func(i int) string { s, _ := head[i].(string); return strings.TrimRight(s, "\n") }
	text := part(2)
	if len(head) > 4 && part(3) != "" {
		text = part(3) + "\n" + text
	}
	if len(text) > unfetchedText {
		text = text[:unfetchedText/2] + "\n…\n" + text[len(text)-unfetchedText/2:]
	}
	return strings.ToValidUTF8(text, "�")
}

// says writes lines to this process's standard error, without holding anybody up.
type says struct {
	mu   sync.Mutex
	list []string
	runs bool
}

func (s *says) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= maxSays {
		return
	}
	s.list = append(s.list, text)
	if !s.runs {
		s.runs = true
		go s.run()
	}
}

// maxSays bounds what waits for a standard error that nobody reads.
const maxSays = 100

func (s *says) run() {
	for {
		s.mu.Lock()
		list := s.list
		s.list = nil
		if len(list) == 0 {
			s.runs = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for _, text := range list {
			_, _ = os.Stderr.WriteString(text) // there is nobody else to tell
		}
	}
}
