package pulls

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// breaking is a connection that ends, or changes a byte, after so many bytes.
type breaking struct {
	net.Conn
	left  int
	flips bool
}

func (c *breaking) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left -= n; c.left < 0 && n > 0 {
		if !c.flips {
			c.Conn.Close()
			return 0, errors.New("cut")
		}
		b[0] ^= 1
		c.left = 1 << 40
	}
	return n, err
}

// Programs on three nodes write, read and free objects of each other, more than fits into the arenas, over connections that break. What is
// read is what was written, an object that was not freed is there, and in the end nothing is left.
func TestPulls_RandomPrograms(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playRandom(t, seed) })
	}
}

func playRandom(t *testing.T, seed uint64) {
	w := newWorld(t, 80*mib, 1, 2, 3)
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 5))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
		switch roll(6) {
		case 0:
			return nil, errors.New("no path")
		case 1:
			return &breaking{Conn: c, left: roll(12 * mib)}, nil
		case 2:
			return &breaking{Conn: c, left: roll(12 * mib), flips: true}, nil
		}
		return c, nil
	}
	var programs sync.WaitGroup
	for p := range 6 {
		programs.Add(1)
		go func() {
			defer programs.Done()
			program(t, w, uint32(1+p%3), roll)
		}()
	}
	programs.Wait()
	for _, n := range w.nodes {
		n.empty()
	}
}

// program is one process that owns objects. Workers on all nodes write them, and read them; then it frees them.
func program(t *testing.T, w *world, at uint32, roll func(int) int) {
	home := w.nodes[at]
	self, owner := &process{}, ids.NewWorkerOn(at).Owner()
	type thing struct {
		id   ids.Object
		size uint64
	}
	var list []thing
	for i := range 20 {
		switch k := roll(5); {
		case k < 2 || len(list) == 0:
			x := thing{ids.NewObject(uint64(i+1), owner, ids.JobOf(1), 1), uint64(1 + roll(10*mib))}
			writer := w.nodes[uint32(1+roll(3))]
			c := &process{}
			place, err := writer.create(c, x.id, x.size)
			if err != nil {
				t.Error(err)
				return
			}
			writer.write(place, data(x.id, x.size))
			writer.seal(c, x.id)
			list = append(list, x)
		case k < 4:
			x := list[roll(len(list))]
			reader := w.nodes[uint32(1+roll(3))]
			c := &process{}
			reader.get(c, x.id, x.size)
			reader.unpin(c, x.id)
		default:
			j := roll(len(list))
			x := list[j]
			list = append(list[:j], list[j+1:]...)
			reader, c := w.nodes[uint32(1+roll(3))], &process{}
			got := reader.ask(c, x.id, Get) // perhaps it comes too late
			home.free(self, x.id)
			if r := receive(t, got); r.err == nil {
				reader.unpin(c, x.id)
			} else if fault.CodeOf(r.err) != fault.ObjectLost {
				t.Error(r.err)
			}
		}
	}
	for _, x := range list {
		home.free(self, x.id)
	}
}
