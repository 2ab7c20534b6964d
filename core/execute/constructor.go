package execute

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
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
