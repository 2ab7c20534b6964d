package resume

import (
	"bytes"
	"errors"
	"testing"
)

// Any bytes are frames or an error, and a frame that was read is written as the same bytes.
func FuzzParseFrame(f *testing.F) {
	f.Add([]byte{})
	for _, x := range []Frame{{Kind: kindAck, Number: 7}, {Kind: kindOpen, Number: 1, Stream: 2, Body: []byte("worker")}, {Kind: kindEnd, Number: 3, Stream: 2, Body: []byte{1}}} {
		h := header(x.Kind, x.Number, x.Stream, len(x.Body))
		f.Add(append(h[:], x.Body...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, rest, ok, err := ParseFrame(b)
		switch {
		case err != nil && (ok || !errors.Is(err, ErrFrame)):
			t.Fatalf("%v, and ok is %v", err, ok)
		case !ok && len(rest) != len(b):
			t.Fatal("bytes are gone without a frame")
		case err == nil && !ok && len(b) >= MaxFrame:
			t.Fatal("a frame is longer than MaxFrame")
		case ok:
			h := header(x.Kind, x.Number, x.Stream, len(x.Body))
			if !bytes.Equal(append(append(h[:], x.Body...), rest...), b) {
				t.Fatalf("%+v is written otherwise", x)
			}
		}
	})
}

func FuzzParseHello(f *testing.F) {
	f.Add(Hello{From: 1, To: 2, Boot: 3}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ParseHello(b); err == nil && !bytes.Equal(h.Append(nil), b) {
			t.Fatalf("%+v is written otherwise", h)
		}
	})
}

// A session takes any frames: it keeps its bounds, and its books agree, whatever the peer says.
func FuzzReceived(f *testing.F) {
	a, b := attached(f, Options{Window: 100, MaxUnsent: 4000, MaxStreams: 3})
	id, err := b.Open([]byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	b.Write(id, make([]byte, 60))
	b.Write(Control, make([]byte, 60))
	b.End(id, Closed)
	f.Add(b.Next(1, nil))
	h := header(kindAck, 2, Control, 0)
	f.Add(h[:])
	if _, err := carry(a, b, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		s, _ := attached(t, Options{Window: 100, MaxUnsent: 4000, MaxStreams: 3})
		own, err := s.Open([]byte("y"))
		if err != nil {
			t.Fatal(err)
		}
		s.Write(own, make([]byte, 70))
		s.Write(Control, make([]byte, 70))
		s.Next(1, nil)
		ended := map[StreamID]int{}
		unread := map[StreamID]int{}
		for {
			x, rest, ok, err := ParseFrame(stream)
			if err != nil || !ok {
				break
			}
			stream = rest
			err = s.Received(1, x)
			for _, a := range s.Actions() {
				switch a.Kind {
				case Ended:
					ended[a.Stream]++
				case Data:
					unread[a.Stream] += len(a.Bytes)
				}
				if ended[a.Stream] > 1 || unread[a.Stream] > 100 {
					t.Fatalf("stream %d ended %d times and has %d bytes", a.Stream, ended[a.Stream], unread[a.Stream])
				}
			}
			if err != nil {
				break
			}
			s.Next(1, nil)
		}
		queued := 0
		for _, x := range s.streams {
			queued += x.out.n + len(x.target)
		}
		if s.Lost() == 0 && (s.queued != queued+s.control.out.n || s.log.n > s.o.MaxUnsent || len(s.streams) != s.own+s.its || s.its > 3) {
			t.Fatalf("%d bytes are counted, and there are %d; %d in the log; streams %d = %d + %d", s.queued, queued, s.log.n, len(s.streams), s.own, s.its)
		}
	})
}
