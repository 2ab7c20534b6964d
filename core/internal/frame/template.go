package frame

import (
	"fmt"
	"math"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Kinds of templates.
const (
	KindTask   = 0
	KindMethod = 1
)

// FIDSize is the length of a function's id, which a method has none of.
const FIDSize = 16

// Template says what the calls of one function with one set of options share.
// A caller sends it once on a connection; its calls name it by ID.
type Template struct {
	ID       uint64
	Kind     int
	FID      []byte // hash of the pickled function; empty: there is none
	Name     string // for people
	Method   string
	Returns  int
	MaxCalls int    // 0: no limit; negative: see client.CallsUntilLeak
	Once     bool   // a call must not run twice: its answer leaves before the next call begins
	Blob     []byte // the pickled function; nil: the worker has it
	Flow     Flow   // of a generator
	Group    string // concurrency group in which a method runs; empty: the default one
}

// AppendTemplate writes the frame of a template.
func AppendTemplate(b []byte, t *Template) []byte {
	b, at := begin(b, wire.OpTemplate, 12)
	b = wire.AppendUint(b, t.ID)
	b = wire.AppendUint(b, uint64(t.Kind))
	b = wire.AppendBin(b, t.FID)
	b = wire.AppendStr(b, t.Name)
	b = wire.AppendStr(b, t.Method)
	b = wire.AppendUint(b, uint64(t.Returns))
	b = wire.AppendUint(b, uint64(t.MaxCalls))
	b = wire.AppendUint(b, flag(t.Once))
	if t.Blob == nil {
		b = wire.AppendNil(b)
	} else {
		b = wire.AppendBin(b, t.Blob)
	}
	b = t.Flow.append(b)
	return End(wire.AppendStr(b, t.Group), at)
}

// ReadTemplate reads what follows the kind of a template's frame.
func ReadTemplate(r *wire.Reader) (t Template, err error) {
	t.ID = r.Uint()
	t.Kind = int(r.UintTo(KindMethod))
	t.FID = r.Bin()
	t.Name, t.Method = r.Str(), r.Str()
	t.Returns = int(r.UintTo(math.MaxInt32))
	t.MaxCalls = int(r.Uint())
	t.Once = r.UintTo(1) == 1
	t.Blob = r.Bin()
	if t.Flow, err = readFlow(r); err != nil {
		return t, err
	}
	t.Group = r.Str()
	if n := len(t.FID); n > 0 && n != FIDSize && r.Err() == nil {
		return t, fmt.Errorf("%w: the function's id of template %d has %d bytes, want %d", wire.ErrBadFrame, t.ID, n, FIDSize)
	}
	return t, r.Err()
}

// AppendForget writes the frame with which a caller says that it does not use a template any more.
func AppendForget(b []byte, template uint64) []byte {
	b, at := begin(b, wire.OpForget, 2)
	return End(wire.AppendUint(b, template), at)
}

// ReadForget reads what follows the kind of such a frame.
func ReadForget(r *wire.Reader) (template uint64, err error) {
	template = r.Uint()
	return template, r.Err()
}

// Modes of a Flow.
const (
	FlowStream  = 1 // the program takes the items one by one
	FlowDynamic = 2 // the generator's object is the list of them, at the end
)

// Flow says how the results of a generator travel. Mode 0: it is none.
type Flow struct {
	Mode    int
	Each    int    // items per yield
	Limit   uint64 // items that the worker may be ahead of the program; 0: any number
	Counted bool   // the worker is told what was taken although there is no Limit
}

func (f *Flow) append(b []byte) []byte {
	if f.Mode == 0 {
		return wire.AppendArray(b, 0)
	}
	b = wire.AppendArray(b, 4)
	b = wire.AppendUint(b, uint64(f.Mode))
	b = wire.AppendUint(b, uint64(f.Each))
	b = wire.AppendUint(b, f.Limit)
	return wire.AppendUint(b, flag(f.Counted))
}

func readFlow(r *wire.Reader) (f Flow, err error) {
	n := r.Array()
	if n == 0 {
		return f, r.Err()
	}
	f.Mode, f.Each = int(r.UintTo(FlowDynamic)), int(r.UintTo(math.MaxInt32))
	f.Limit, f.Counted = r.Uint(), r.UintTo(1) == 1
	if r.Err() == nil && (n != 4 || f.Mode == 0) {
		return f, fmt.Errorf("%w: the flow of a generator has %d fields and mode %d", wire.ErrBadFrame, n, f.Mode)
	}
	return f, r.Err()
}
