package blocks

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

var header = []byte("header")

// streamOf returns a stream of data, written in pieces of any size.
func streamOf(t testing.TB, die *rand.Rand, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		n := min(len(data), 1+die.IntN(100_000))
		if k, err := w.Write(data[:n]); err != nil || k != n {
			t.Fatal(k, err)
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// contents reads a stream whose header is given.
func contents(stream []byte) ([]byte, error) {
	head := stream[:min(len(stream), len(header))]
	return io.ReadAll(NewReader(bytes.NewReader(stream[len(head):]), head))
}

func TestStream_AnyData_ComesBack(t *testing.T) {
	die := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{0, 1, written - 1, written, written + 1, 5*written + 7} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(die.Uint32())
		}
		stream := streamOf(t, die, data)
		if got, err := contents(stream); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
		if again := streamOf(t, die, data); !bytes.Equal(again, stream) {
			t.Errorf("%d bytes: another stream when they come in other pieces", size)
		}
	}
}

// What comes out before the damage is noticed is what was written.
func TestStream_CutOrChanged_IsNoticedBeforeItIsUsed(t *testing.T) {
	die := rand.New(rand.NewPCG(2, 1))
	data := make([]byte, 2*written+100)
	for i := range data {
		data[i] = byte(die.Uint32())
	}
	good := streamOf(t, die, data)
	for range 2000 {
		bad := bytes.Clone(good)
		switch at := die.IntN(len(bad)); die.IntN(3) {
		case 0:
			bad = bad[:at]
		case 1:
			bad[at] ^= 1 << die.IntN(8)
		case 2:
			bad = append(bad, bad[at])
		}
		got, err := contents(bad)
		if d := (*Damage)(nil); !errors.As(err, &d) || d.At > int64(len(bad)) || !bytes.HasPrefix(data, got) {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
}

// full takes so many bytes.
type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriter_NoRoom_SaysSo(t *testing.T) {
	data := make([]byte, 3*written)
	size := len(streamOf(t, rand.New(rand.NewPCG(1, 1)), data))
	for _, room := range []int{0, len(header), written, size / 2, size - 1, size} {
		w, err := NewWriter(&full{room}, header)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if errors.Is(err, errFull) != (room < size) {
			t.Errorf("room for %d of %d bytes: got %v", room, size, err)
		}
	}
}
