package client

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// An item that is lost while its generator runs is made by a second run beside
// the first, if the generator may run again; else the error says why not. The
// first run goes on, and nothing is left in the end.
func TestStreamRecovery_ItemLostWhileItsGeneratorRuns_ASecondRunMakesIt(t *testing.T) {
	for _, retries := range []int{3, 0} {
		d := startDaemon(t)
		var mu sync.Mutex
		runs := 0
		gate := make(chan struct{})
		work := func(c *Client, it *Item) {
			mu.Lock()
			runs++
			run := runs
			mu.Unlock()
			generate(func(_ *Client, i int) *Value {
				if run == 1 && i == 3 {
					<-gate
				}
				if i == 5 {
					return nil
				}
				return text(fmt.Sprintf("%d.%s", i, strings.Repeat("x", MaxInline)))
			})(c, it)
		}
		d.worker(work)
		d.worker(work)
		c := d.driver()
		gen := generator(t, c, retries, Flow{Mode: FlowStream})
		var items []ids.Object
		for range 3 {
			id, st, err := c.NextItem(gen, testLimit)
			if err != nil || st != StreamItem {
				t.Fatal(st, err)
			}
			items = append(items, id)
		}
		d.loses(items[1])
		if retries == 0 {
			expectOutcome(t, c, "the lost item", items[1], "", fault.LostNoRetries)
		} else if got, code := outcome(t, c, items[1]); !strings.HasPrefix(got, "1.x") || code != "" {
			t.Errorf("the lost item: %.20q, %s", got, code)
		}
		for i, want := range map[int]string{0: "0.x", 2: "2.x"} {
			if got, code := outcome(t, c, items[i]); !strings.HasPrefix(got, want) || code != "" {
				t.Errorf("item %d: %.20q, %s", i, got, code)
			}
		}
		close(gate)
		for _, want := range []string{"3.x", "4.x", "end"} {
			if got := next(t, c, gen); !strings.HasPrefix(got, want) {
				t.Errorf("then came %.20q, want %s", got, want)
			}
		}
		mu.Lock()
		if want := 1 + min(1, retries); runs != want {
			t.Errorf("with %d retries it ran %d times, want %d", retries, runs, want)
		}
		mu.Unlock()
		for _, id := range items {
			c.Release(Drop{Object: id})
		}
		leave(c, gen)
		waitFor(t, "everything is let go", func() bool { owned, _ := c.Holds(); return owned == 0 })
	}
}
