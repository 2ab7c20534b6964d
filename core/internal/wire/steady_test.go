package wire

import (
	"bytes"
	"net"
	"testing"
	"testing/iotest"
)

// A daemon has a connection for each of many processes: those that say little have little.
func TestFramer_GrowsWithWhatComes(t *testing.T) {
	small := AppendFrame(nil, make([]byte, 100))
	f := framer{r: iotest.OneByteReader(bytes.NewReader(bytes.Repeat(small, 50)))}
	for range 50 {
		if _, err := f.next(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.buf) != framerFirst {
		t.Errorf("frames that come one by one: a buffer of %d bytes, want %d", len(f.buf), framerFirst)
	}
	f = framer{r: bytes.NewReader(bytes.Repeat(small, 5000))}
	for range 5000 {
		if _, err := f.next(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.buf) != framerSize {
		t.Errorf("frames that come many at a time: a buffer of %d bytes, want %d", len(f.buf), framerSize)
	}
	f = framer{r: bytes.NewReader(append(AppendFrame(nil, make([]byte, 1<<20)), small...))}
	for range 2 {
		if _, err := f.next(1 << 21); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.buf) > framerKeep {
		t.Errorf("after a large frame: a buffer of %d bytes is kept", len(f.buf))
	}
}

// What has ended may be referred to for a while (by who asks how it ended); its buffers must not.
func TestPeer_Closed_HasNoBuffers(t *testing.T) {
	a, b := net.Pipe()
	p := NewPeer(a, func(*Message) {}, nil)
	p.Start()
	other := NewPeer(b, func(*Message) {}, nil)
	other.Start()
	if err := other.Push(TBlocked, nil); err != nil {
		t.Fatal(err)
	}
	other.Close()
	<-p.Done()
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil || p.calls != nil || p.in.buf != nil {
		t.Errorf("%d bytes to write, %d to read", cap(p.out), len(p.in.buf))
	}
}

// A connection that has sent much once keeps little room for what it sends next.
func TestPeer_SentMuch_KeepsLittleRoom(t *testing.T) {
	p, _ := talk(t, func(*Message) {})
	for _, size := range []int{1 << 20, 100, 100, 100} {
		if err := p.Push(TObjSeal, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := p.Flush(minute(t)); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := cap(p.out); c == 0 || c > spareKeep {
		t.Errorf("room for %d bytes is kept, want 1 to %d", c, spareKeep)
	}
}
