package execute

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// constructor reads an actor's specification, which is two frames: the template
// of the class and the call of the constructor.
func (w *Worker) constructor(s *wire.ActorStart) (*Call, error) {
	c := &Caller{w: w, pipe: closedPipe{}, Job: w.job, tmpls: map[uint64]*Template{}}
	var k *Call
	read := func(f []byte) error {
		r, op, n, err := frame.Open(f)
		switch {
		case err != nil:
			return err
		case op == wire.OpTemplate:
			return c.template(&r)
		case op == wire.OpTask && k == nil:
			t, err := c.parseTask(&r, n)
			if err != nil {
				return err
			}
			t.Actor = s
			k = t
			return nil
		}
		return fmt.Errorf("%w: actor %s: malformed specification", wire.ErrBadFrame, s.ClassName)
	}
	b := s.Spec
	if len(s.Template) > 0 {
		if len(b) < 4 || len(b)-4 < int(binary.LittleEndian.Uint32(b)) {
			return nil, fault.New(fault.BadRequest, "actor %s: malformed specification", s.ClassName)
		}
		b = slices.Concat(s.Template, b[4+binary.LittleEndian.Uint32(b):])
	}
	used, err := frame.Each(b, read)
	if err == nil && (k == nil || used != len(b)) {
		err = fmt.Errorf("%w: actor %s: malformed specification", wire.ErrBadFrame, s.ClassName)
	}
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s", err)
	}
	return k, nil
}

// BecomeActor queues the constructor of the actor that this worker is from now
// on. The specification is the class's template and the constructor's call; an
// alternative's template takes the first one's place. On the page the actor notes
// which calls have begun; nil: it does not restart.
func (w *Worker) BecomeActor(s *wire.ActorStart, page *progress.Writer) error {
	w.page = page
	k, err := w.constructor(s)
	if err != nil {
		return err
	}
	copy(w.actorID[:], s.ActorID)
	w.push(k)
	return nil
}

// closedPipe is the connection of a call that nobody sent through a socket: an actor's constructor.
type closedPipe struct{}

func (closedPipe) Buffer() []byte       { return nil }
func (closedPipe) Queue([]byte)         {}
func (closedPipe) Unsent() int          { return 0 }
func (closedPipe) Flush()               {}
func (closedPipe) FlushUntil(time.Time) {}
func (closedPipe) SendSoon()            {}
func (closedPipe) SendLater()           {}
func (closedPipe) Sent()                {}
func (closedPipe) WhenSent(func())      {}
func (closedPipe) Pause()               {}
func (closedPipe) Resume()              {}
func (closedPipe) Paused() bool         { return false }
func (closedPipe) Closed() bool         { return true }
func (closedPipe) HearWakeup(uint64)    {}
func (closedPipe) FD() int              { return -1 }
