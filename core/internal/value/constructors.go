package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/store"
)

// What calls in a pickle make, beside values of the tree.
type (
	buffer []byte // a buffer beside the pickle
	dtype  struct {
		text  string
		plain bool // it has neither fields nor a unit
	}
	blank struct{} // an array before it has its state
	zone  struct{ offset time.Duration }
)

// global reads the name of a Python object. Which ones are understood, make says.
func (u *unpickler) global(op byte) error {
	var parts [2]string
	if op == opGlobal {
		for i := range parts {
			n := strings.IndexByte(string(u.b[:min(len(u.b), 1<<10)]), '\n')
			if n < 0 {
				return fmt.Errorf("%w: a name without an end", errBadPickle)
			}
			parts[i], u.b = string(u.b[:n]), u.b[n+1:]
		}
	} else {
		two, err := u.popN(2)
		if err != nil {
			return err
		}
		for i, x := range two {
			s, ok := x.(string)
			if !ok {
				return fmt.Errorf("%w: the name of a global is no text", errBadPickle)
			}
			parts[i] = s
		}
	}
	u.push(global{parts[0], parts[1]})
	return nil
}

// make returns what calling f with arguments gives, or f with a state.
func (u *unpickler) make(op byte, f, with any) (any, error) {
	args, isTuple := with.(tuple)
	if op == opBuild {
		return build(f, args)
	}
	g, ok := f.(global)
	if !ok || !isTuple {
		return nil, fmt.Errorf("%w: a call of %T", errBadPickle, f)
	}
	made, err := u.construct(g, args)
	if err == nil && made == nil {
		err = notPlain(g)
	}
	return made, err
}

// construct calls one of the functions that are understood; nil, nil: g is none of them, or not in this form.
func (u *unpickler) construct(g global, args tuple) (any, error) {
	if strings.HasPrefix(g.module, "numpy") {
		return u.numpy(g.name, args)
	}
	switch g {
	case global{refsModule, nextRef}:
		u.refs++
		return Ref(u.refs - 1), nil
	case global{actorModule, importHandle}:
		return handleOf(args), nil
	case global{"builtins", "complex"}:
		if re, im := floatAt(args, 0), floatAt(args, 1); re != nil && im != nil && len(args) == 2 {
			return complex(*re, *im), nil
		}
	case global{"builtins", "bytearray"}:
		if b, ok := argument(args, 0).([]byte); ok && len(args) == 1 {
			return b, nil
		}
	case global{"collections", "OrderedDict"}:
		if len(args) == 0 {
			return &dict{}, nil
		}
	case global{datetimeModule, "timedelta"}:
		return timedelta(args), nil
	case global{datetimeModule, "timezone"}:
		if d, ok := argument(args, 0).(time.Duration); ok {
			return zone{d}, nil
		}
	case global{datetimeModule, "datetime"}:
		return datetime(args)
	}
	return nil, nil
}

// handleOf returns nil for arguments that are not those of an actor's handle.
func handleOf(args tuple) any {
	id, ok1 := argument(args, 0).([]byte)
	token, ok2 := argument(args, 1).(string)
	meta, ok3 := argument(args, 2).([]byte)
	if len(args) != 3 || !ok1 || !ok2 || !ok3 {
		return nil
	}
	return Handle{ID: id, Token: token, Meta: meta}
}

func argument(args tuple, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

func floatAt(args tuple, i int) *float64 {
	if f, ok := argument(args, i).(float64); ok {
		return &f
	}
	return nil
}

// timedelta returns nil for one that is longer than a Go duration can be.
func timedelta(args tuple) any {
	if len(args) != 3 {
		return nil
	}
	total := int64(0)
	for i, unit := range []int64{microsecondsInDay, 1000000, 1} {
		n, ok := args[i].(int64)
		if limit := math.MaxInt64 / microsecond / unit / 2; !ok || n > limit || n < -limit {
			return nil
		}
		total += n * unit
	}
	if limit := math.MaxInt64 / microsecond; total > limit || total < -limit {
		return nil
	}
	return time.Duration(total * microsecond)
}

// datetime reads Python's own form of 10 bytes and the one that this package writes.
func datetime(args tuple) (any, error) {
	var n []int
	switch b := argument(args, 0).(type) {
	case []byte:
		if len(b) != 10 || len(args) > 2 {
			return nil, nil
		}
		n = []int{int(b[0])<<8 | int(b[1]), int(b[2] & 0x7f), int(b[3]), int(b[4]), int(b[5]), int(b[6]), int(b[7])<<16 | int(b[8])<<8 | int(b[9])}
		args = args[1:]
	case int64:
		if len(args) != 8 {
			return nil, nil
		}
		for _, x := range args[:7] {
			i, ok := x.(int64)
			if !ok {
				return nil, nil
			}
			n = append(n, int(i))
		}
		args = args[7:]
	default:
		return nil, nil
	}
	z, ok := argument(args, 0).(zone)
	if !ok {
		return nil, fmt.Errorf("%w: a datetime without a time zone of datetime's own (write datetime.now(timezone.utc))", store.ErrNotPlain)
	}
	in := time.UTC
	if z.offset != 0 {
		in = time.FixedZone("", int(z.offset/time.Second))
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*int(microsecond), in), nil
}

// numpy makes arrays, scalars and dtypes; nil, nil: it is none of these.
func (u *unpickler) numpy(name string, args tuple) (any, error) {
	switch name {
	case "dtype":
		if s, ok := argument(args, 0).(string); ok && len(s) > 1 {
			return &dtype{text: s, plain: true}, nil
		}
	case "_reconstruct":
		return &blank{}, nil
	case "_frombuffer": // buffer, dtype, shape, order
		if len(args) == 4 {
			return arrayOf(args[0], args[1], args[2], args[3])
		}
	case "ndarray": // shape, dtype, buffer, offset, strides, order
		if text, ok := argument(args, 1).(string); ok && len(args) == 6 {
			return arrayOf(args[2], &dtype{text: text, plain: true}, args[0], args[5])
		}
	case "scalar":
		if d, ok := argument(args, 0).(*dtype); ok && d.plain && len(args) == 2 {
			if b, ok := args[1].([]byte); ok {
				return scalarOf(d.text, b), nil
			}
		}
	}
	return nil, nil
}

// arrayOf returns nil, nil when the array's elements have no form outside of Python.
func arrayOf(data, kind, shape, order any) (any, error) {
	d, ok1 := kind.(*dtype)
	sizes, ok2 := shape.(tuple)
	o, ok3 := order.(string)
	if !ok1 || !d.plain || !ok2 || !ok3 || o != "C" && o != "F" {
		return nil, nil
	}
	var b []byte
	switch x := data.(type) {
	case buffer:
		b = x
	case []byte:
		b = x
	case nil:
	default:
		return nil, nil
	}
	dims := make([]int, len(sizes))
	for i, s := range sizes {
		n, ok := s.(int64)
		if !ok || n < 0 {
			return nil, fmt.Errorf("%w: the shape of an array", errBadPickle)
		}
		dims[i] = int(n)
	}
	a, err := store.RawNDArray(d.text, dims, o[0], b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNotPlain, err)
	}
	return a, nil
}

// build gives dtypes and arrays their state.
func build(f any, state tuple) (any, error) {
	switch x := f.(type) {
	case *dtype: // version, byte order, base type, names, fields, size, alignment, flags, and of dates the unit
		order, ok := argument(state, 1).(string)
		if !ok || len(state) < 8 || len(order) != 1 {
			return nil, fmt.Errorf("%w: the state of a dtype", errBadPickle)
		}
		x.plain = len(state) == 8 && state[2] == nil && state[3] == nil && state[4] == nil
		text := x.text
		switch n, _ := state[5].(int64); {
		case strings.HasPrefix(text, "U") && n > 0:
			text = fmt.Sprintf("U%d", n/4)
		case strings.HasPrefix(text, "S") && n > 0:
			text = fmt.Sprintf("S%d", n)
		}
		if !strings.ContainsRune("<>|=", rune(text[0])) {
			text = order + text
		}
		x.text = text
		return x, nil
	case *blank: // version, shape, dtype, whether in Fortran's order, bytes
		if fortran, ok := argument(state, 3).(bool); ok && len(state) == 5 {
			order := "C"
			if fortran {
				order = "F"
			}
			if made, err := arrayOf(state[4], state[2], state[1], order); made != nil || err != nil {
				return made, err
			}
		}
		return nil, fmt.Errorf("%w: a numpy array of Python objects or of fields", store.ErrNotPlain)
	case global:
		return nil, notPlain(x)
	}
	return nil, fmt.Errorf("%w: an object of a class (%T)", store.ErrNotPlain, f)
}

// scalarOf returns a numpy scalar as a Go value, nil for one that has none.
func scalarOf(text string, b []byte) any {
	if len(text) < 3 || store.ItemSize(text) != len(b) || len(b) > 16 && text[1] != 'U' && text[1] != 'S' {
		return nil
	}
	bits := func(b []byte) uint64 {
		var full [8]byte
		for i, x := range b {
			if text[0] == '>' {
				i = len(b) - 1 - i
			}
			full[i] = x
		}
		return binary.LittleEndian.Uint64(full[:])
	}
	float := func(b []byte) any {
		switch len(b) {
		case 4:
			return float64(math.Float32frombits(uint32(bits(b))))
		case 8:
			return math.Float64frombits(bits(b))
		}
		return nil
	}
	switch kind, n := text[1], len(b); {
	case kind == 'b' && n == 1:
		return b[0] != 0
	case kind == 'i' && n <= 8 && n > 0:
		shift := 64 - 8*n
		return int64(bits(b)<<shift) >> shift
	case kind == 'u' && n <= 8:
		if v := bits(b); v > math.MaxInt64 {
			return v
		} else {
			return int64(v)
		}
	case kind == 'f':
		return float(b)
	case kind == 'c' && (n == 8 || n == 16):
		return complex(float(b[:n/2]).(float64), float(b[n/2:]).(float64))
	case kind == 'U' && text[0] != '>':
		var s []rune
		for i := 0; i+4 <= n; i += 4 {
			s = append(s, rune(bits(b[i:i+4])))
		}
		if out := string(s); utf8.ValidString(out) {
			return out
		}
	case kind == 'S':
		return b
	}
	return nil
}
