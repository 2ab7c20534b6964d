package core_test

import (
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

type place struct {
	X, Y int8
	Name string `json:"name"`
}

type order struct {
	place
	ID    int            `msgpack:"id"`
	Tags  []string       `msgpack:"tags"`
	Price *float64       `msgpack:"price"`
	More  map[string]any `msgpack:"more,omitempty"`
	Skip  chan int       `msgpack:"-"`
}

// Every Go value reaches Python as what it means, and comes back.
func TestValues_GoToPythonAndBack(t *testing.T) {
	ctx, s := join(t, opts)
	price := 2.5
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	when := time.Date(2024, 2, 29, 12, 30, 15, 123456000, time.UTC)
	var none *int
	for _, c := range []struct {
		in   any
		repr string
		back any // what Get[any] gives; nil: in
	}{
		{int8(-5), "-5", int64(-5)},
		{uint64(math.MaxUint64), "18446744073709551615", uint64(math.MaxUint64)},
		{int64(math.MinInt64), "-9223372036854775808", nil},
		{huge, "123456789012345678901234567890", nil},
		{new(big.Int).Neg(huge), "-123456789012345678901234567890", nil},
		{big.NewInt(7), "7", int64(7)},
		{float32(0.5), "0.5", 0.5},
		{math.Inf(-1), "-inf", nil},
		{complex(1, -2), "(1-2j)", nil},
		{"text", "'text'", nil},
		{[]byte("ab"), "b'ab'", nil},
		{[2]byte{1, 2}, `b'\x01\x02'`, []byte{1, 2}},
		{[]int(nil), "[]", []any{}},
		{map[string]int(nil), "{}", map[string]any{}},
		{none, "None", nil},
		{[]any{nil, true, 1, "a"}, "[None, True, 1, 'a']", []any{nil, true, int64(1), "a"}},
		{map[int]string{3: "c"}, "{3: 'c'}", map[any]any{int64(3): "c"}},
		{when, "datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc)", nil},
		{90 * time.Second, "datetime.timedelta(seconds=90)", nil},
		{netip.MustParseAddr("10.0.0.1"), "'10.0.0.1'", "10.0.0.1"},
		{order{place{1, 2, "home"}, 7, []string{"a"}, &price, nil, nil}, "{'id': 7, 'tags': ['a'], 'price': 2.5, 'X': 1, 'Y': 2, 'name': 'home'}",
			map[string]any{"id": int64(7), "tags": []any{"a"}, "price": 2.5, "X": int64(1), "Y": int64(2), "name": "home"}},
		{map[string]any{"big": huge, "when": when}, "{'big': 123456789012345678901234567890, 'when': datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc)}", nil},
	} {
		if got, err := call[string](t, ctx, s, "show", c.in); err != nil || got != c.repr {
			t.Errorf("%T %v is %s in Python (%v), want %s", c.in, c.in, got, err, c.repr)
		}
		want := c.back
		if want == nil && c.repr != "None" {
			want = c.in
		}
		if got, err := call[any](t, ctx, s, "same", c.in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T %v came back as %T %v (%v)", c.in, c.in, got, got, err)
		}
		ref, err := core.Put[any](ctx, s, c.in)
		if err != nil {
			t.Errorf("put %T: %v", c.in, err)
			continue
		}
		if got, err := core.Get(ctx, ref); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T %v was put and is %T %v (%v)", c.in, c.in, got, got, err)
		}
	}
	in := order{place{1, 2, "home"}, 7, []string{"a"}, &price, map[string]any{"k": "v"}, nil}
	if got, err := call[order](t, ctx, s, "same", in); err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("a struct came back as %+v (%v)", got, err)
	}
}

// What a Go type cannot hold is an error that names the place; nothing is cut or made zero.
func TestValues_PythonToGo_NoLoss(t *testing.T) {
	ctx, s := join(t, opts)
	fails := func(err error, words string) {
		t.Helper()
		if !errors.Is(err, core.ErrType) || core.CodeOf(err) != "type_mismatch" || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want ErrType with %q", err, words)
		}
	}
	_, err := call[int8](t, ctx, s, "evaluate", "300")
	fails(err, "300 does not fit")
	_, err = call[uint](t, ctx, s, "evaluate", "-1")
	fails(err, "-1 does not fit")
	_, err = call[int](t, ctx, s, "evaluate", "None")
	fails(err, "None cannot become a Go int")
	_, err = call[string](t, ctx, s, "evaluate", "None")
	fails(err, "None")
	_, err = call[[]int](t, ctx, s, "evaluate", "None")
	fails(err, "None")
	_, err = call[map[string]int](t, ctx, s, "evaluate", "None")
	fails(err, "None")
	_, err = call[int](t, ctx, s, "evaluate", "2.0")
	fails(err, "float")
	_, err = call[int64](t, ctx, s, "evaluate", "2**70")
	fails(err, "int")
	_, err = call[float64](t, ctx, s, "evaluate", "2**53+1")
	fails(err, "does not fit")
	_, err = call[float32](t, ctx, s, "evaluate", "1e300")
	fails(err, "does not fit")
	_, err = call[bool](t, ctx, s, "evaluate", "1")
	fails(err, "int")
	_, err = call[string](t, ctx, s, "evaluate", "b'x'")
	fails(err, "bytes")
	_, err = call[[]byte](t, ctx, s, "evaluate", "'x'")
	fails(err, "str")
	_, err = call[[3]int](t, ctx, s, "evaluate", "[1, 2]")
	fails(err, "2 items")
	_, err = call[map[string][]place](t, ctx, s, "evaluate", "{'a': [{'X': 1}, {'X': 500}]}")
	fails(err, `["a"][1]["X"]`)
	_, err = call[map[int]string](t, ctx, s, "evaluate", "{'a': 'b'}")
	fails(err, "str")

	if got, err := call[*int](t, ctx, s, "evaluate", "None"); err != nil || got != nil {
		t.Errorf("None as a pointer: %v, %v", got, err)
	}
	if got, err := call[any](t, ctx, s, "evaluate", "None"); err != nil || got != nil {
		t.Errorf("None as any: %v, %v", got, err)
	}
	if got, err := call[*int](t, ctx, s, "evaluate", "5"); err != nil || *got != 5 {
		t.Errorf("5 as a pointer: %v, %v", got, err)
	}
	if got, err := call[float64](t, ctx, s, "evaluate", "3"); err != nil || got != 3 {
		t.Errorf("3 as a float: %v, %v", got, err)
	}
	if got, err := call[float64](t, ctx, s, "evaluate", "float('nan')"); err != nil || !math.IsNaN(got) {
		t.Errorf("NaN: %v, %v", got, err)
	}
	if got, err := call[*big.Int](t, ctx, s, "evaluate", "-2**100"); err != nil || got.String() != "-1267650600228229401496703205376" {
		t.Errorf("a big integer: %v, %v", got, err)
	}
	if got, err := call[any](t, ctx, s, "evaluate", "(1, ('a', None), numpy.float64(2.5), numpy.int32(-3), numpy.bool_(True), numpy.str_('é'))"); err != nil ||
		!reflect.DeepEqual(got, []any{int64(1), []any{"a", nil}, 2.5, int64(-3), true, "é"}) {
		t.Errorf("a tuple with numpy's scalars: %v, %v", got, err)
	}
	if got, err := call[time.Time](t, ctx, s, "evaluate", "datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))"); err != nil ||
		!got.Equal(time.Date(2024, 1, 2, 1, 0, 0, 0, time.UTC)) {
		t.Errorf("a datetime: %v, %v", got, err)
	}
	for expr, words := range map[string]string{"{1, 2}": "set", "object()": "object", "numpy.array([object()])": "numpy", "datetime.datetime(2024, 1, 1)": "time zone", "print": "print"} {
		if _, err := call[any](t, ctx, s, "evaluate", expr); !errors.Is(err, core.ErrNotPlain) || core.CodeOf(err) != "not_plain" || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want ErrNotPlain with %q", expr, err, words)
		}
	}
}

type lock struct{ held bool } // no field that another package sees

type withLock struct {
	Name string
	L    lock
}

// What Python cannot be given is an error that names the place in the value.
func TestValues_Unsendable_NamesThePlace(t *testing.T) {
	ctx, s := join(t, opts)
	f := must[*core.Function](t)(s.Function("shop:same", core.Call{}))
	ref := must[*core.Ref[int]](t)(core.Put(ctx, s, 1))
	_, other := join(t, opts)
	foreign := must[*core.Ref[int]](t)(core.Put(ctx, other, 1))
	type ring struct{ Next *ring }
	loop := &ring{}
	loop.Next = loop
	for name, c := range map[string]struct {
		in    any
		words string
	}{
		"channel":          {map[string]any{"a": []any{1, make(chan int)}}, `["a"][1]: a chan int`},
		"func":             {struct{ F func() }{func() {}}, ".F: a func()"},
		"no fields":        {withLock{L: lock{held: true}}, ".L: a core_test.lock has no exported field"},
		"cycle":            {loop, "contain itself"},
		"bad text":         {[]string{"ok", "\xff"}, "[1]: the text"},
		"key":              {map[[2]int]int{{1, 2}: 3}, "key"},
		"equal keys":       {map[any]any{1: "a", true: "b"}, "equal to it in Python"},
		"function":         {f, "*core.Function cannot be sent"},
		"session":          {map[string]any{"s": s}, "*core.Session"},
		"ref by value":     {[]core.Ref[int]{*ref}, "by value"},
		"foreign ref":      {[]any{foreign}, "another session"},
		"array, bad shape": {[]any{core.NDArray{DType: "<f8", Shape: []int{3}, Order: 'C'}}, "[0]"},
		"late year":        {time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), "year"},
	} {
		if _, err := core.Put(ctx, s, c.in); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("put of %s: %v, want %q", name, err, c.words)
		}
		if _, err := core.Submit[any](ctx, f, c.in); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "argument 0") {
			t.Errorf("argument %s: %v, want %q", name, err, c.words)
		}
	}
	var none *core.Ref[int]
	if _, err := core.Submit[any](ctx, f, none); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a nil reference: %v", err)
	}
	if _, err := core.Get(ctx, none); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("get of nil: %v", err)
	}
	if _, err := core.Submit[any](ctx, f, foreign); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a reference of another session: %v", err)
	}
}

// References and arrays travel anywhere inside a value, in both directions.
func TestValues_ReferencesAndArraysInside(t *testing.T) {
	ctx, s := join(t, opts)
	one := must[*core.Ref[int]](t)(core.Put(ctx, s, 1))
	two := must[*core.Ref[int]](t)(core.Put(ctx, s, 2))
	type deep struct {
		Ref  *core.Ref[int] `msgpack:"ref"`
		List []core.AnyRef  `msgpack:"list"`
	}
	if got, err := call[int](t, ctx, s, "nested", deep{one, []core.AnyRef{two, one}}); err != nil || got != 4 {
		t.Errorf("references in a struct: %v, %v", got, err)
	}
	refs := must[[]*core.Ref[string]](t)(call[[]*core.Ref[string]](t, ctx, s, "put_all", []string{"a", "b"}))
	if got, err := core.GetAll(ctx, refs); err != nil || !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("references in a result: %v, %v", got, err)
	}
	anys := must[any](t)(call[any](t, ctx, s, "put_all", []int{7}))
	if got, err := core.Get(ctx, core.As[int](anys.([]any)[0].(core.AnyRef))); err != nil || got != 7 {
		t.Errorf("a reference as any: %v, %v", got, err)
	}
	kept := must[*core.Ref[deep]](t)(core.Put(ctx, s, deep{one, []core.AnyRef{two}}))
	back := must[deep](t)(core.Get(ctx, kept))
	if got, err := core.Get(ctx, back.Ref); err != nil || got != 1 || len(back.List) != 1 {
		t.Errorf("a reference that was put: %v, %v", got, err)
	}

	floats := must[core.NDArray](t)(core.NewNDArray([]float64{1, 2, 3, 4}, 2, 2))
	inside := map[string]any{"a": struct {
		Array core.NDArray `msgpack:"array"`
	}{floats}}
	if got, err := call[[]any](t, ctx, s, "total", inside); err != nil || got[0] != 10.0 || got[1] != false {
		t.Errorf("an array in a struct in a map: %v, %v", got, err)
	}
	if got, err := call[[]any](t, ctx, s, "describe_array", floats); err != nil || got[0] != "<f8" {
		t.Errorf("an array as an argument: %v, %v", got, err)
	}
	list := must[[]core.NDArray](t)(call[[]core.NDArray](t, ctx, s, "evaluate", "[numpy.arange(3), numpy.ones((2, 2), order='F')]"))
	if v, err := core.Values[int64](list[0]); err != nil || !reflect.DeepEqual(v, []int64{0, 1, 2}) {
		t.Errorf("an array in a list: %v, %v", v, err)
	}
}

// Arrays of every dtype and layout reach Python and come back, alone and inside of lists.
func TestValues_ArraysOfEveryKind(t *testing.T) {
	ctx, s := join(t, opts)
	for _, expr := range []string{
		"numpy.array([True, False])", "numpy.arange(-3, 3, dtype='i1')", "numpy.arange(5, dtype='>i4')", "numpy.arange(5, dtype='u8')",
		"numpy.array([1.5, 2], dtype='f2')", "numpy.linspace(0, 1, 7, dtype='f4')", "numpy.array([1+2j])", "numpy.array(['ab', 'c'])", "numpy.array([b'ab'])",
		"numpy.array(['2024-01-01'], dtype='M8[ns]')", "numpy.arange(24).reshape(2, 3, 4)", "numpy.asfortranarray(numpy.arange(6).reshape(2, 3))",
		"numpy.arange(20)[::2]", "numpy.array(3.5)", "numpy.zeros((0, 3))", "numpy.arange(1_000_000.0)",
	} {
		a, err := call[core.NDArray](t, ctx, s, "evaluate", expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		same := "numpy.array_equal(x, " + expr + ") and x.dtype == " + expr + ".dtype and x.shape == " + expr + ".shape"
		for _, in := range []any{a, a.Copy()} {
			if ok, err := call[bool](t, ctx, s, "holds", same, in); err != nil || !ok {
				t.Errorf("%s came to Python as something else (%v)", expr, err)
			}
			if ok, err := call[bool](t, ctx, s, "holds_inside", same, []any{in}); err != nil || !ok {
				t.Errorf("%s in a list came to Python as something else (%v)", expr, err)
			}
		}
	}
	f := must[core.NDArray](t)(call[core.NDArray](t, ctx, s, "evaluate", "numpy.asfortranarray(numpy.arange(6).reshape(2, 3))"))
	if v, err := core.Values[int64](f); err != nil || f.Order != 'F' || !reflect.DeepEqual(v, []int64{0, 1, 2, 3, 4, 5}) {
		t.Errorf("values of an array in Fortran's order: %v, %v", v, err)
	}
	b := must[core.NDArray](t)(call[core.NDArray](t, ctx, s, "evaluate", "numpy.arange(3, dtype='>u2')"))
	if v, err := core.Values[uint16](b); err != nil || !reflect.DeepEqual(v, []uint16{0, 1, 2}) {
		t.Errorf("values of an array with the highest byte first: %v, %v", v, err)
	}
}
