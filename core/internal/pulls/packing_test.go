package pulls

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/eagleray/eagleray/core/internal/objects"
)

func TestPacking_Pays_OnlyWhereItSavesTime(t *testing.T) {
	const mb = 1e6
	for what, x := range map[string]struct {
		rate, speed, left float64
		want              bool
	}{
		"the first chunk":                   {0, 1000 * mb, 0.01, false},
		"1 Gbit/s, half is left":            {125 * mb, 800 * mb, 0.5, true},
		"1 Gbit/s, nearly all is left":      {125 * mb, 800 * mb, 0.95, false},
		"10 Gbit/s, half is left":           {1250 * mb, 800 * mb, 0.5, false},
		"10 Gbit/s, zeros":                  {1250 * mb, 8000 * mb, 0.01, true},
		"saves less than a tenth":           {100 * mb, 1000 * mb, 0.85, false},
		"a slow processor, a slow network":  {10 * mb, 30 * mb, 0.2, true},
		"a slow processor, a quick network": {100 * mb, 30 * mb, 0.2, false},
	} {
		p := packing{rate: x.rate}
		if got := p.pays(x.speed, x.left); got != x.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// s2 compresses zeros at more than 2 GB/s, and brings them back at a tenth of that, which a receiver of 1 GB/s would feel.
func TestPacking_Probe_CountsBringingBack(t *testing.T) {
	zeros, buf := make([]byte, 1<<20), make([]byte, s2.MaxEncodedLen(1<<20))
	for rate, want := range map[float64]bool{0: false, 1e6: true, 1e9: false} {
		p := packing{rate: rate}
		if got := p.probe(buf, zeros); got != want {
			t.Errorf("a connection of %g bytes/s: %v", rate, got)
		}
	}
}

func TestPacking_Rate(t *testing.T) {
	var p packing
	p.sent(1e6, 10*time.Millisecond, false)
	if p.rate != 1e8 {
		t.Errorf("after the first chunk %v", p.rate)
	}
	p.sent(1e6, 5*time.Millisecond, false)
	if math.Abs(p.rate-1.5e8) > 1 {
		t.Errorf("after a quicker one %v", p.rate)
	}
	p.sent(1e3, 0, true) // it fitted into a buffer
	if math.Abs(p.rate-1.65e8) > 1 {
		t.Errorf("after a compressed one that took no time %v", p.rate)
	}
	p.sent(1e6, 20*time.Millisecond, true)
	if p.rate != 5e7 {
		t.Errorf("after a compressed one on a slow connection %v", p.rate)
	}
}

// throttled is a connection that brings so many bytes in a second, and counts them.
type throttled struct {
	net.Conn
	rate float64
	next time.Time
	n    *atomic.Int64
}

func (c *throttled) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 64<<10)])
	c.n.Add(int64(n))
	if now := time.Now(); c.next.Before(now) {
		c.next = now
	}
	c.next = c.next.Add(time.Duration(float64(n) / c.rate * 1e9))
	time.Sleep(time.Until(c.next))
	return n, err
}

// Over a slow connection an object that shrinks comes compressed, and one that does not comes as it is. Its bytes are the same in both cases.
func TestPull_SlowConnection_ComesCompressed(t *testing.T) {
	w := newWorld(t, 320*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	var n atomic.Int64
	w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
		_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		return &throttled{Conn: c, rate: 40e6, n: &n}, nil
	}
	const size = 64*mib + 77
	shrinks, stays := a.id(), a.id()
	w.data = shrinking
	a.put(&process{}, shrinks, size)
	b.get(&process{}, shrinks, size)
	if came := n.Swap(0); came < chunkSize || came > 4*chunkSize+size/10 { // the first chunk of each connection tells how fast it is
		t.Errorf("%d bytes came for %d", came, size)
	}
	w.data = data
	a.put(&process{}, stays, size)
	b.get(&process{}, stays, size)
	if came := n.Load(); came < size || came > size+1000 {
		t.Errorf("%d bytes came for %d that do not shrink", came, size)
	}
}

// packedChunk is the answer with a chunk of one piece.
func packedChunk(n uint32, length uint32, packed []byte, sum uint32) []byte {
	b := appendHead(nil, saysPacked, n)
	b = binary.LittleEndian.AppendUint32(b, length)
	return binary.LittleEndian.AppendUint32(append(b, packed...), sum)
}

func TestAnswer_CompressedChunk_IsChecked(t *testing.T) {
	w := newWorld(t, 80*mib, 1)
	n := w.nodes[1]
	at, err := n.create(&process{}, n.id(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	r := room{arena: &n.p.arena, at: objects.Place{Off: at.Off}}
	whole := bytes.Repeat([]byte("abcd"), 250)
	packed := s2.Encode(nil, whole)
	sum := crc32.Checksum(whole, castagnoli)
	for what, x := range map[string]struct {
		b  []byte
		is error
	}{
		"good":             {packedChunk(1000, uint32(len(packed)), packed, sum), nil},
		"as it is":         {packedChunk(1000, 1000, whole, sum), nil},
		"another sum":      {packedChunk(1000, uint32(len(packed)), packed, sum+1), errSum},
		"of more bytes":    {packedChunk(1000, 0, nil, sum), errFormat},
		"too long":         {packedChunk(1000, 1001, whole, sum), errFormat},
		"of other bytes":   {packedChunk(1000, uint32(len(s2.Encode(nil, whole[:999]))), s2.Encode(nil, whole[:999]), sum), errFormat},
		"no block":         {packedChunk(1000, 3, []byte{0xe8, 0x07, 0xff}, sum), errFormat},
		"another length":   {packedChunk(999, uint32(len(packed)), packed, sum), errFormat},
		"ends in the head": {packedChunk(1000, uint32(len(packed)), packed, sum)[:headSize+2], errEnds},
	} {
		err := r.answer(bytes.NewReader(x.b), &request{kind: askChunk, n: 1000})
		if x.is == nil && err != nil || x.is != nil && x.is != errEnds && !errors.Is(err, x.is) || x.is == errEnds && err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

var errEnds = errors.New("any error")
