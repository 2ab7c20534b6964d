package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

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
	c.table.FailAs(o, x)
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
	got, err := c.Follow(envelopeOf(envelope.PointTo(&p)))
	if err != nil || !strings.Contains(string(got), "short") {
		t.Errorf("%q, %v", got, err)
	}
	p.Brief = nil
	got, err = c.Follow(envelopeOf(envelope.PointTo(&p)))
	if e, bad := store.Parse(got); err != nil || bad != nil || e.Format != store.FormatFault {
		t.Errorf("%q, %v, %v", got, err, bad)
	}
}

// envelopeOf returns the envelope of a value.
func envelopeOf(v Value) []byte { return v.Envelope(v.Size()) }
