package frame

import (
	"bytes"
	"errors"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Whatever the other end sends: a frame is read or refused, and what was
// read is written as a frame that is read the same.
func FuzzFrames(f *testing.F) {
	for _, b := range recorded(f) {
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Add([]byte{7, 0, 0, 0, 0x95, 0x0a, 0x01, 0x00, 0x01, 0xdd, 0xff}, false)
	f.Fuzz(func(t *testing.T, b []byte, generator bool) {
		var whole [][]byte
		used, err := Each(b, func(frame []byte) error {
			whole = append(whole, bytes.Clone(frame))
			return nil
		})
		if err != nil && !errors.Is(err, wire.ErrFrameTooLarge) || used > len(b) {
			t.Fatalf("%d of %d bytes, %v", used, len(b), err)
		}
		for _, x := range whole {
			m, err := read(x, generator)
			if err != nil {
				if !errors.Is(err, wire.ErrBadFrame) {
					t.Fatal(err)
				}
				continue
			}
			written := m.appendTo(nil)
			again, err := read(written[headBytes:], generator)
			if err != nil || !bytes.Equal(again.appendTo(nil), written) {
				t.Fatalf("%v\nread  %+v\nagain %+v", err, m, again)
			}
		}
	})
}

// Whatever an envelope says of where an exception is, it is read or refused.
func FuzzPointer(f *testing.F) {
	f.Add(recorded(f)["exception-pointer"])
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPointer(b)
		if err != nil {
			if !errors.Is(err, wire.ErrBadFrame) {
				t.Fatal(err)
			}
			return
		}
		if again, err := ReadPointer(AppendPointer(nil, &p)); err != nil || !bytes.Equal(again.Brief, p.Brief) || again.ID != p.ID || again.Owner != p.Owner || again.Size != p.Size {
			t.Fatalf("%+v is read again as %+v, %v", p, again, err)
		}
	})
}
