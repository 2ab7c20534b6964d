package client

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Tasks of one function are long or short by their argument, and tasks of two
// functions take turns. With a long one on all workers but one, every short one
// is answered: none waits behind a long one while a worker is idle.
func TestMixed_LongAmongShort_NoneWaitsBehindOneWhileAWorkerIsIdle(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			d := startDaemon(t)
			gate := make(chan struct{})
			var begun atomic.Int32
			workers := 2 + r.IntN(2)
			for range workers {
				d.worker(func(c *Client, it *Item) {
					begun.Add(1)
					if textOf(it) == "L" {
						<-gate
					}
					echo(c, it)
				})
			}
			c := d.driver()
			fs := []int{template(t, c, "f"), template(t, c, "g")}[:1+r.IntN(2)]
			const n = 300
			long := map[int]bool{}
			for range workers - 1 {
				long[r.IntN(n)] = true
			}
			var short, rest []ids.Object
			for i := range n {
				f := fs[r.IntN(len(fs))]
				if long[i] {
					rest = append(rest, submitText(t, c, f, "L"))
				} else {
					short = append(short, submitText(t, c, f, "x"))
				}
			}
			for _, id := range short {
				if s := get(t, c, id); s != "x" {
					t.Fatalf("got %q, want x", s)
				}
			}
			close(gate)
			for _, id := range rest {
				get(t, c, id)
			}
			if got := begun.Load(); got != n {
				t.Errorf("%d tasks began, want %d", got, n)
			}
		})
	}
}
