package localstore

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ID returns the object.
func (p *Pinning) ID() ids.Object { return p.id }

// ForArgument reports whether a task waits for the object, and no program.
func (p *Pinning) ForArgument() bool { return p.argument }

// Done is closed when the answer is there. Then Take gives the view.
func (p *Pinning) Done() <-chan struct{} { return p.done }

// ErrNoAnswer says that the daemon has not answered in the time that the caller gave it.
var ErrNoAnswer = fault.New(fault.Internal, "the object store has not answered yet")

// hold gives the caller a hold of the view of an object; nil when there is none.
func (s *Store) hold(id ids.Object) *View {
	v := s.mapped[id]
	if v == nil {
		return nil
	}
	if v.holds == 0 {
		s.idle.unlist(v)
	}
	v.holds++
	return v
}

// Pin gives the caller a hold of an object's view, or the pinning to wait for
// where there is no view yet.
func (s *Store) Pin(id ids.Object) (*View, *Pinning) {
	if v := s.hold(id); v != nil {
		return v, nil
	}
	return nil, s.Ask(id)
}

// Ask asks for an object's place, or joins those who wait for it. The caller must call Take.
func (s *Store) Ask(id ids.Object) *Pinning {
	p := s.ask(id)
	p.waiting++
	return p
}

// PinArgument is Pin for the argument of a task.
func (s *Store) PinArgument(id ids.Object) (*View, *Pinning) {
	if v := s.hold(id); v != nil {
		return v, nil
	}
	return nil, s.AskArgument(id)
}

// AskArgument is Ask for the argument of a task.
func (s *Store) AskArgument(id ids.Object) *Pinning {
	p := s.pinnings[id]
	if p == nil {
		p = s.begin(id)
		p.argument = true
		s.daemon.Pin(p)
	}
	p.waiting++
	return p
}

// ask is Ask without a caller that waits.
func (s *Store) ask(id ids.Object) *Pinning {
	p := s.pinnings[id]
	if p == nil {
		p = s.begin(id)
		s.daemon.Pin(p)
	}
	return p
}

// begin notes that the place of an object is being asked for.
func (s *Store) begin(id ids.Object) *Pinning {
	p := &Pinning{id: id, done: make(chan struct{})}
	s.pinnings[id] = p
	return p
}

// Take returns the view to a caller of Ask, with a hold of its own, or the reason why there is
// none. ErrNoAnswer means that the answer is not there yet, and the caller has given up.
func (s *Store) Take(p *Pinning) (*View, error) {
	select {
	case <-p.done:
		return p.view, p.err
	default:
		p.waiting--
		return nil, ErrNoAnswer
	}
}

// Placed takes the daemon's answer to Daemon.Pin.
func (s *Store) Placed(p *Pinning, at wire.ObjPlace, err error) {
	if err == nil && at.Path != "" && s.ended == nil {
		s.daemon.OpenFile(p, at)
		return
	}
	s.finish(p, at, nil, err == nil, err)
}

// Opened takes the answer to Daemon.OpenFile.
func (s *Store) Opened(p *Pinning, at wire.ObjPlace, file *store.FileView, err error) {
	s.finish(p, at, file, true, err)
}

// finish ends a pinning. pinned says that the daemon has pinned the object, whatever err is.
func (s *Store) finish(p *Pinning, at wire.ObjPlace, file *store.FileView, pinned bool, err error) {
	defer close(p.done)
	delete(s.pinnings, p.id)
	if s.ended != nil {
		err = s.ended
	}
	if err != nil {
		file.Close()
		if pinned {
			s.daemon.Unpin(p.id)
		}
		p.err = fmt.Errorf("get object %s: %w", p.id, err)
		return
	}
	v := &View{id: p.id, off: at.Offset, size: at.Size, file: file, holds: p.waiting, freed: p.freed}
	s.add(v)
	p.view = v
	if p.waiting == 0 && !(p.prefetched && s.keepPrefetched(v)) { // all who waited have given up
		s.unpin(v)
	}
}

// keepPrefetched makes the table keep the view of a value that nobody has taken yet. It
// returns false when nobody needs the value any more.
func (s *Store) keepPrefetched(v *View) bool {
	o := s.table.Find(v.id)
	if o == nil || !MustFetch(o) || v.freed {
		return false
	}
	s.KeepFor(o, v)
	return true
}
