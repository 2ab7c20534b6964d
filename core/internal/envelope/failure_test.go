package envelope

import (
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// envelopeOf returns the envelope of a value.
func envelopeOf(v Value) []byte { return v.Envelope(v.Size()) }

func TestPointerIn_OnlyAnEnvelopeOfThatFormat_IsRead(t *testing.T) {
	v := PointTo(&frame.Pointer{ID: ids.NewObject(7, ids.Owner{1}, ids.JobOf(2), 3), Owner: "/a/socket", Size: 1 << 40, Brief: []byte("short")})
	got, err := PointerIn(envelopeOf(v))
	if err != nil || got == nil || got.Owner != "/a/socket" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := PointerIn(envelopeOf(Value{Fmt: uint8(store.FormatPickle), Meta: v.Meta})); got != nil || err != nil {
		t.Errorf("another value was taken for a pointer: %+v, %v", got, err)
	}
	for n := range v.Meta {
		if got, err := PointerIn(envelopeOf(Value{Fmt: uint8(store.FormatElsewhere), Meta: v.Meta[:n]})); err == nil {
			t.Errorf("%d of %d bytes were read as %+v", n, len(v.Meta), got)
		}
	}
}

func TestUnstored_Exception_IsTold(t *testing.T) {
	meta := wire.AppendArray(nil, 4)
	for _, text := range []string{"f", "ValueError: why", "the traceback"} {
		meta = wire.AppendStr(meta, text)
	}
	full := fault.New(fault.StoreFull, "no room")
	f := Unstored(&Value{Fmt: uint8(store.FormatError), Meta: wire.AppendBin(meta, []byte("pickled"))}, full)
	for _, part := range []string{"f raised", "no room", "ValueError: why", "the traceback"} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("%q lacks %q", f.Message, part)
		}
	}
	if f.Code != fault.StoreFull {
		t.Error(f.Code)
	}
	for _, v := range []Value{{Fmt: uint8(store.FormatPickle), Meta: meta}, {Fmt: uint8(store.FormatError), Meta: []byte("malformed")}} {
		if f := Unstored(&v, full); f.Message != "no room" {
			t.Errorf("%q", f.Message)
		}
	}
	if f := Unstored(&Value{}, errors.New("x")); f.Code != fault.Internal {
		t.Error(f.Code)
	}
}

// Only an envelope of a fault gives one, with the code and the message that it was made from.
func TestFaultIn_OnlyAnEnvelopeOfAFault_IsRead(t *testing.T) {
	for _, task := range []string{"", "f"} {
		f := fault.New(fault.StoreFull, "no room")
		f.Task = task
		whole := store.EncodeFault(f)
		if got := FaultIn(whole); got == nil || got.Code != fault.StoreFull || got.Message != "no room" {
			t.Errorf("task %q: %v", task, got)
		}
		for n := range whole {
			if got := FaultIn(whole[:n]); got != nil {
				t.Errorf("%d of %d bytes were read as %v", n, len(whole), got)
			}
		}
	}
	one := wire.AppendStr(wire.AppendArray(nil, 1), "a code without a message")
	for what, v := range map[string]Value{
		"another format":    {Fmt: uint8(store.FormatError), Meta: store.EncodeFault(fault.New(fault.Internal, "x"))},
		"no message":        {Fmt: uint8(store.FormatFault), Meta: one},
		"no list of texts":  {Fmt: uint8(store.FormatFault), Meta: []byte{7}},
		"an exception":      {Fmt: uint8(store.FormatError), Meta: []byte("short")},
		"an empty metadata": {Fmt: uint8(store.FormatFault)},
	} {
		if got := FaultIn(envelopeOf(v)); got != nil {
			t.Errorf("%s was read as %v", what, got)
		}
	}
	if e, err := store.Parse(Brief([]byte("short"))); err != nil || e.Format != store.FormatError || string(e.Meta) != "short" {
		t.Errorf("a short form is %+v, %v", e, err)
	}
}
