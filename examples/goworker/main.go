// Goworker is a program whose functions and actors a cluster runs. examples/goworker/call.py calls them from Python:
//
//	go build -o goworker ./examples/goworker
//	python examples/goworker/call.py ./goworker
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/eagleray/eagleray/core/worker"
)

// errEmpty tells Python and Go alike.
var errEmpty = errors.New("there are no numbers")

// mean is a function: any types of docs/go.md, an error last.
func mean(ctx context.Context, numbers []float64) (float64, error) {
	if len(numbers) == 0 {
		return 0, worker.NoRetry(errEmpty)
	}
	sum := 0.0
	for _, x := range numbers {
		sum += x
	}
	return sum / float64(len(numbers)), ctx.Err()
}

// primes is a stream: each item travels while the next one is looked for.
func primes(ctx context.Context, limit int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for n := 2; n < limit; n++ {
			if isPrime(n) && !yield(n, ctx.Err()) {
				return
			}
		}
	}
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}

// Stock is an actor. Its calls run at the same time when it is made with max_concurrency, so it has a lock.
type Stock struct {
	mu    sync.Mutex
	items map[string]int
}

// NewStock begins with some items.
func NewStock(items map[string]int) *Stock { return &Stock{items: items} }

// Take takes n items away, and returns how many are left.
func (s *Stock) Take(_ context.Context, name string, n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[name] < n {
		return 0, fmt.Errorf("there are %d of %s, and %d were asked for", s.items[name], name, n)
	}
	s.items[name] -= n
	return s.items[name], nil
}

func main() {
	worker.Function1("mean", mean)
	worker.Stream1("primes", primes)
	worker.Actor("Stock", NewStock)
	worker.Main()
}
