package frame

import (
	"fmt"
	"math"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// MaxReferences is how many references a call may take as arguments. Each is
// some 100 bytes of the frame, and of the worker's memory.
const MaxReferences = 1 << 18

// Task is a call: of a function, of an actor's method, or of an actor's
// constructor, whose sequence number is 0.
type Task struct {
	Seq      uint32
	Template uint64
	First    uint64  // count of the first return among its owner's objects
	Args     Place   // the arguments, without what references stand for
	Deps     []Place // what the references among the arguments stand for
	More     bool    // a Resume follows when the template is a generator's, else a Had
}

// BeginTask opens the frame of a call. What follows is, in this order: the
// place of its arguments, AppendCount with the number of its references, the
// place of each, with more also AppendResume or AppendHad, and End.
func BeginTask(b []byte, seq uint32, template, first uint64, more bool) (out []byte, at int) {
	n := 6
	if more {
		n = 7
	}
	b, at = begin(b, wire.OpTask, n)
	b = wire.AppendUint(b, uint64(seq))
	b = wire.AppendUint(b, template)
	return wire.AppendUint(b, first), at
}

// ReadTask reads what follows the kind of a call's frame with n elements, but
// for the Resume or the Had.
func ReadTask(r *wire.Reader, n int) (t Task, err error) {
	t.Seq, t.Template, t.First = readSeq(r), r.Uint(), r.Uint()
	t.More = n == 7
	if t.Args, err = readPlace(r); err != nil {
		return t, err
	}
	count := r.Array()
	if count > MaxReferences {
		return t, fmt.Errorf("%w: call %d takes %d references, at most %d are allowed", wire.ErrBadFrame, t.Seq, count, MaxReferences)
	}
	for range count {
		p, err := readPlace(r)
		if err != nil {
			return t, err
		}
		t.Deps = append(t.Deps, p)
	}
	return t, r.Err()
}

// Place is where the worker finds an argument.
type Place struct {
	Envelope []byte     // the value itself; nil: see ID
	ID       ids.Object // the object in the store
	Size     uint64     // bytes of its envelope; 0: not known to be ready, its owner is to be asked
	Owner    string     // address of the object's owner
}

// AppendInline writes the place of an argument that travels in the frame.
func AppendInline(b, envelope []byte) []byte {
	b = wire.AppendArray(b, 2)
	b = wire.AppendUint(b, wire.PlaceInline)
	return wire.AppendBin(b, envelope)
}

// AppendStored writes the place of an argument that does not travel in the
// frame. With a size of 0 the worker asks the object's owner for it.
func AppendStored(b []byte, id *ids.Object, size uint64, owner string) []byte {
	b = wire.AppendArray(b, 4)
	b = wire.AppendUint(b, wire.PlaceStore)
	b = wire.AppendBin(b, id[:])
	b = wire.AppendUint(b, size)
	return wire.AppendStr(b, owner)
}

func readPlace(r *wire.Reader) (p Place, err error) {
	n := r.Array()
	kind := r.Uint()
	switch {
	case r.Err() != nil:
	case kind == wire.PlaceInline && n == 2:
		if p.Envelope = r.Bin(); p.Envelope == nil {
			p.Envelope = []byte{}
		}
	case kind == wire.PlaceStore && n == 4:
		if p.ID, err = ids.ParseObject(r.Bin()); err != nil {
			return p, fmt.Errorf("%w: %v", wire.ErrBadFrame, err)
		}
		p.Size, p.Owner = r.Uint(), r.Str()
	default:
		return p, fmt.Errorf("%w: place %d of an argument has %d fields", wire.ErrBadFrame, kind, n)
	}
	return p, r.Err()
}

// All as Resume.Have says that all items had come, and as Resume.Taken, or in
// a frame of AppendTaken, that the program takes what comes without limit.
const All = math.MaxUint64

// Resume says with what a call of a generator goes on.
type Resume struct {
	Have  uint64   // items that its caller has: they are yielded and not sent
	Taken uint64   // of them, items that the program has taken
	Quit  bool     // nobody wants more: close it
	Lost  []uint64 // of the items that the caller had, those to be sent again, in order
}

// AppendResume ends the call of a generator.
func AppendResume(b []byte, s *Resume) []byte {
	b = wire.AppendArray(b, 3+len(s.Lost))
	b = wire.AppendUint(b, s.Have)
	b = wire.AppendUint(b, s.Taken)
	b = wire.AppendUint(b, flag(s.Quit))
	for _, i := range s.Lost {
		b = wire.AppendUint(b, i)
	}
	return b
}

// ReadResume reads the end of the call of a generator.
func ReadResume(r *wire.Reader) (s Resume, err error) {
	n := r.Array()
	s.Have, s.Taken, s.Quit = r.Uint(), r.Uint(), r.UintTo(1) == 1
	if r.Err() == nil && n < 3 {
		return s, fmt.Errorf("%w: the state of a generator has %d fields", wire.ErrBadFrame, n)
	}
	for range n - 3 {
		s.Lost = append(s.Lost, r.Uint())
	}
	return s, r.Err()
}

// AppendHad ends a call that runs again for lost results: it names the results
// that the caller has, or wants no more.
func AppendHad(b []byte, had []int) []byte {
	b = wire.AppendArray(b, len(had))
	for _, i := range had {
		b = wire.AppendUint(b, uint64(i))
	}
	return b
}

// ReadHad reads which of a call's results its caller has; nil: none.
func ReadHad(r *wire.Reader, returns int) (had map[int]bool, err error) {
	n := r.Array()
	if n > returns {
		return nil, fmt.Errorf("%w: %d of %d results are left out", wire.ErrBadFrame, n, returns)
	}
	for range n {
		i := r.Uint()
		if r.Err() == nil && i >= uint64(returns) {
			return nil, fmt.Errorf("%w: result %d of %d is left out", wire.ErrBadFrame, i, returns)
		}
		if had == nil {
			had = map[int]bool{}
		}
		had[int(i)] = true
	}
	return had, r.Err()
}
