package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// envelopeOf returns the envelope of a value.
func envelopeOf(v Value) []byte {
	n, _ := v.layout()
	return v.envelope(n)
}

func TestPointerIn_OnlyAnEnvelopeOfThatFormat_IsRead(t *testing.T) {
	v := pointTo(&frame.Pointer{ID: ids.NewObject(7, ids.Owner{1}, ids.JobOf(2), 3), Owner: "/a/socket", Size: 1 << 40, Brief: []byte("short")})
	got, err := pointerIn(envelopeOf(v))
	if err != nil || got == nil || got.Owner != "/a/socket" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := pointerIn(envelopeOf(Value{Fmt: FmtPickle, Meta: v.Meta})); got != nil || err != nil {
		t.Errorf("another value was taken for a pointer: %+v, %v", got, err)
	}
	for n := range v.Meta {
		if got, err := pointerIn(envelopeOf(Value{Fmt: FmtElsewhere, Meta: v.Meta[:n]})); err == nil {
			t.Errorf("%d of %d bytes were read as %+v", n, len(v.Meta), got)
		}
	}
}

// TestFailAs_ExceptionInTheStore_PointsThereAndKeepsIt: what fails because of a
// large exception has no copy of it.
func TestFailAs_ExceptionInTheStore_PointsThereAndKeepsIt(t *testing.T) {
	c := startDaemon(t).driver()
	v := Value{Fmt: FmtError, Meta: make([]byte, 2*MaxInline)}
	from, err := c.Put(&v)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	x, o := c.table.Find(from), c.table.New(0, 1)
	alter(x, func(f *refs.Facts) { f.IsError = true })
	c.failAs(o, x)
	c.mu.Unlock()
	c.Release(Drop{Object: from}) // the program has no other reference to it
	f, err := c.Get(o.ID, -1)
	if err != nil || !f.IsError || f.View != 0 || len(f.Envelope) > 500 {
		t.Fatalf("%+v, %v", f, err)
	}
	got, err := c.Follow(f.Envelope)
	if err != nil || len(got) < len(v.Meta) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	c.Release(Drop{Object: o.ID})
	if owned, _ := c.Holds(); owned != 0 {
		t.Errorf("%d objects stay", owned)
	}
}

func TestFollow_ExceptionIsGone_TellsItInShort(t *testing.T) {
	c := startDaemon(t).driver()
	p := frame.Pointer{ID: ids.NewObject(99, c.self, c.info.Job, 1), Owner: c.info.Addr, Brief: []byte("short")}
	got, err := c.Follow(envelopeOf(pointTo(&p)))
	if err != nil || !strings.Contains(string(got), "short") {
		t.Errorf("%q, %v", got, err)
	}
	p.Brief = nil
	got, err = c.Follow(envelopeOf(pointTo(&p)))
	if e, bad := store.Parse(got); err != nil || bad != nil || e.Format != store.FormatFault {
		t.Errorf("%q, %v, %v", got, err, bad)
	}
}

func TestUnstored_Exception_IsTold(t *testing.T) {
	meta := wire.AppendArray(nil, 4)
	for _, text := range []string{"f", "ValueError: why", "the traceback"} {
		meta = wire.AppendStr(meta, text)
	}
	full := fault.New(fault.StoreFull, "no room")
	f := unstored(&Value{Fmt: FmtError, Meta: wire.AppendBin(meta, []byte("pickled"))}, full)
	for _, part := range []string{"f raised", "no room", "ValueError: why", "the traceback"} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("%q lacks %q", f.Message, part)
		}
	}
	if f.Code != fault.StoreFull {
		t.Error(f.Code)
	}
	for _, v := range []Value{{Fmt: FmtPickle, Meta: meta}, {Fmt: FmtError, Meta: []byte("malformed")}} {
		if f := unstored(&v, full); f.Message != "no room" {
			t.Errorf("%q", f.Message)
		}
	}
	if f := unstored(&Value{}, errors.New("x")); f.Code != fault.Internal {
		t.Error(f.Code)
	}
}
