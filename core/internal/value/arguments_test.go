package value

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

func TestReadArguments_WhatArgsHasPacked_ComesBack(t *testing.T) {
	one, err := Encode("a value", References{})
	if err != nil {
		t.Fatal(err)
	}
	for form, third := range map[string]any{"msgpack": 7, "pickle": complex(1, 2)} {
		e, err := Args([]any{nil, []int{1, 2}, third}, map[string]any{"k": "v"}, []any{0}, References{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := ReadArguments(Input{Envelope: envelope(e)}, []Input{{Envelope: envelope(one)}})
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		var text string
		var list []int
		if a.Len() != 3 || !slices.Equal(a.Named(), []string{"k"}) {
			t.Errorf("%s: %d arguments, named %v", form, a.Len(), a.Named())
		}
		if err := a.Assign(0, reflect.ValueOf(&text).Elem()); err != nil || text != "a value" {
			t.Errorf("%s: the value of a reference: %q, %v", form, text, err)
		}
		if err := a.Assign(1, reflect.ValueOf(&list).Elem()); err != nil || !slices.Equal(list, []int{1, 2}) {
			t.Errorf("%s: %v, %v", form, list, err)
		}
		if err := a.Assign(1, reflect.ValueOf(&text).Elem()); !errors.Is(err, ErrType) {
			t.Errorf("%s: a list as a text: %v", form, err)
		}
	}
	none, err := ReadArguments(Input{Envelope: envelope(Encoded{Format: store.FormatNone})}, nil)
	if err != nil || none.Len() != 0 {
		t.Error("no arguments:", none, err)
	}
}

func TestReadArguments_Hostile_IsAnError(t *testing.T) {
	pack := func(v any) []byte {
		e, err := Encode(v, References{})
		if err != nil || e.Format != store.FormatMsgpack {
			t.Fatal(e.Format, err)
		}
		e.Format = store.FormatArgsMsgpack
		return envelope(e)
	}
	empty := map[string]any{}
	dep := []Input{{Envelope: envelope(Encoded{Format: store.FormatNone})}}
	for what, x := range map[string]struct {
		envelope []byte
		deps     []Input
	}{
		"no envelope":                {[]byte("nonsense"), nil},
		"another format":             {envelope(Encoded{Format: store.FormatBytes, Bufs: [][]byte{{1}}}), nil},
		"a number":                   {pack(5), nil},
		"one part":                   {pack([]any{[]any{}}), nil},
		"a dict in place of a list":  {pack([]any{empty, empty}), nil},
		"a list in place of a dict":  {pack([]any{[]any{}, []any{}}), nil},
		"keys that are numbers":      {pack([]any{[]any{}, map[int]int{1: 2}}), nil},
		"a place without a value":    {pack([]any{[]any{nil}, empty, []any{0}}), nil},
		"a value without a place":    {pack([]any{[]any{nil}, empty, []any{}}), dep},
		"a place that there is not":  {pack([]any{[]any{nil}, empty, []any{1}}), dep},
		"a place below the first":    {pack([]any{[]any{nil}, empty, []any{-1}}), dep},
		"a place that is no place":   {pack([]any{[]any{nil}, empty, []any{1.5}}), dep},
		"a value that is malformed":  {pack([]any{[]any{nil}, empty, []any{0}}), []Input{{Envelope: []byte("x")}}},
		"references nobody reads":    {envelope(Encoded{Format: store.FormatArgsRefs, Meta: []byte("x")}), nil},
		"a pickle that is malformed": {envelope(Encoded{Format: store.FormatArgs, Meta: []byte("\x80\x05x")}), nil},
	} {
		if a, err := ReadArguments(Input{Envelope: x.envelope}, x.deps); err == nil {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

func TestReadArguments_ErrorInAPickle_NamesTheArgument(t *testing.T) {
	p := newPickled()
	p.tuple()
	p.list(2)
	p.integer(1)
	p.b = append(p.b, opGlobal)
	p.b = append(p.b, "shop\nOrder\n"...)
	p.endList()
	p.dict(0)
	p.endDict()
	p.endTuple()
	_, err := ReadArguments(Input{Envelope: envelope(Encoded{Format: store.FormatArgs, Meta: append(p.b, opStop)})}, nil)
	if !errors.Is(err, store.ErrNotPlain) || !strings.Contains(err.Error(), "argument 1") || !strings.Contains(err.Error(), "shop.Order") {
		t.Error(err)
	}
}

func TestActorHandle_InAValue_ComesBack(t *testing.T) {
	type actor struct{ id string }
	pkg := reflect.TypeFor[actor]().PkgPath()
	refs := References{
		Package: pkg,
		Object:  func(any) (id ids.Object, err error) { return id, errors.New("no reference") },
		Actor: func(p any) *Handle {
			return &Handle{ID: []byte(p.(*actor).id), Token: "token", Meta: []byte("meta")}
		},
	}
	e, err := Encode(map[string]any{"a": &actor{"0123456789abcdef"}}, refs)
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{AssignActor: func(dst reflect.Value, h Handle) (bool, error) {
		if h.Token != "token" || string(h.Meta) != "meta" {
			t.Errorf("%+v", h)
		}
		dst.Set(reflect.ValueOf(&actor{string(h.ID)}))
		return true, nil
	}}
	if found, err := Decode[map[string]*actor](envelope(e), r); err != nil || found["a"].id != "0123456789abcdef" {
		t.Error(found, err)
	}
	if _, err := Decode[map[string]int](envelope(e), Reader{}); !errors.Is(err, ErrType) {
		t.Errorf("an actor as a number: %v", err)
	}
}

// Whatever a caller sends becomes arguments or an error.
func FuzzReadArguments(f *testing.F) {
	one, err := Encode([]any{1, "a"}, References{})
	if err != nil {
		f.Fatal(err)
	}
	for _, third := range []any{7, complex(1, 2)} {
		e, err := Args([]any{nil, []int{1, 2}, third}, map[string]any{"k": "v"}, []any{0}, References{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(envelope(e), envelope(one))
	}
	r := Reader{
		Table:       func(meta []byte) ([]byte, error) { return meta, nil },
		Assign:      func(dst reflect.Value, _ Ref) bool { return dst.Kind() == reflect.Interface },
		AssignActor: func(dst reflect.Value, _ Handle) (bool, error) { return dst.Kind() == reflect.Interface, nil },
	}
	f.Fuzz(func(t *testing.T, args, dep []byte) {
		for _, deps := range [][]Input{nil, {{Envelope: dep, Reader: r}}} {
			a, err := ReadArguments(Input{Envelope: args, Reader: r}, deps)
			if err != nil {
				continue
			}
			for i := range a.Len() {
				var v any
				var n []map[string]int
				_ = a.Assign(i, reflect.ValueOf(&v).Elem())
				_ = a.Assign(i, reflect.ValueOf(&n).Elem())
			}
		}
	})
}
