package client

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func (q *fifo) all() (out []*task) {
	q.each(func(t *task) { out = append(out, t) })
	return out
}

// Against a plain slice: pushes at both ends, pops, removals of members and of strangers.
func TestFifo_RandomOperations_LikeSlice(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		var q fifo
		var model, gone []*task
		for step := range 6000 {
			switch n := r.IntN(10); {
			case n < 4 || step < 200:
				x := new(task)
				q.push(x)
				model = append(model, x)
			case n == 4:
				front := make([]*task, r.IntN(5))
				for i := range front {
					front[i] = new(task)
				}
				q.pushFront(front)
				model = append(slices.Clone(front), model...)
			case n < 7 && len(model) > 0:
				if q.first() != model[0] || q.pop() != model[0] {
					t.Fatalf("seed %d, step %d: another task came first", seed, step)
				}
				gone = append(gone, model[0])
				model = model[1:]
			case n < 9 && len(model) > 0:
				i := r.IntN(len(model))
				if !q.remove(model[i]) {
					t.Fatalf("seed %d, step %d: a task was not found", seed, step)
				}
				gone = append(gone, model[i])
				model = slices.Delete(slices.Clone(model), i, i+1)
			case len(gone) > 0:
				i := r.IntN(len(gone))
				if q.remove(gone[i]) || q.remove(new(task)) {
					t.Fatalf("seed %d, step %d: a stranger was removed", seed, step)
				}
				if r.IntN(2) == 0 { // it comes back, as a task that is tried again
					q.push(gone[i])
					model = append(model, gone[i])
					gone = slices.Delete(gone, i, i+1)
				}
			}
			if q.len() != len(model) {
				t.Fatalf("seed %d, step %d: length %d, want %d", seed, step, q.len(), len(model))
			}
		}
		if !slices.Equal(q.all(), model) {
			t.Fatalf("seed %d: the order is another one", seed)
		}
	}
}

func TestFifo_HundredThousandRemovals_Linear(t *testing.T) {
	const n = 100_000
	few, many := time.Hour, time.Hour
	for range 20 { // a busy machine may slow some of them down
		few, many = min(few, removals(t, n/10)), min(many, removals(t, n))
		if many < 80*few { // 10 when it is linear, more when the tasks do not fit in the cache, far above 100 when each removal searches
			return
		}
	}
	t.Fatalf("%d removals took %v, a tenth of them %v", n, many, few)
}

// removals takes n tasks out of a queue, from the end, the worst for a search from the front.
func removals(t *testing.T, n int) time.Duration {
	t.Helper()
	var q fifo
	tasks := make([]*task, n)
	for i := range tasks {
		tasks[i] = new(task)
		q.push(tasks[i])
	}
	began := time.Now()
	for i := range n {
		if !q.remove(tasks[n-1-i]) {
			t.Fatal("a task was not found")
		}
	}
	took := time.Since(began)
	if q.len() != 0 || len(q.items) > 2*manyEmpty {
		t.Fatalf("%d tasks and %d slots are left", q.len(), len(q.items))
	}
	return took
}

func TestBackoff_GrowsToItsLimit(t *testing.T) {
	const base, limit = 100 * time.Millisecond, 2 * time.Second
	if d := Backoff(0, base, limit); d != 0 {
		t.Fatalf("the first retry waits %v", d)
	}
	for n := 1; n < 100; n++ {
		want := limit
		if n <= 5 {
			want = min(limit, base<<(n-1))
		}
		if d := Backoff(n, base, limit); d < want*3/4 || d > want*5/4 {
			t.Fatalf("retry %d waits %v, want %v give or take a quarter", n, d, want)
		}
	}
}

// A queue that was long gives its memory back: places that were left are cleared, and an empty one keeps no large array.
func TestFifo_LongQueueIsEmptied_MemoryIsGivenBack(t *testing.T) {
	const n = 20_000
	var q fifo
	var tasks []*task
	for range n {
		x := new(task)
		tasks = append(tasks, x)
		q.push(x)
	}
	for i := range n * 2 / 3 {
		if q.pop() != tasks[i] {
			t.Fatalf("task %d did not come in its turn", i)
		}
	}
	rest := tasks[n*2/3:]
	if len(q.items) > n*2/3 || !slices.Equal(q.all(), rest) {
		t.Errorf("%d slots are kept for %d tasks", len(q.items), len(rest))
	}
	for i, x := range q.items[:cap(q.items)] {
		if i >= len(q.items) && x != nil {
			t.Fatalf("slot %d, behind the queue, still holds a task", i)
		}
	}
	if !q.remove(rest[5]) || q.remove(tasks[0]) || q.len() != len(rest)-1 {
		t.Errorf("%d tasks are left, want %d", q.len(), len(rest)-1)
	}
	for q.len() > 0 {
		q.pop()
	}
	if cap(q.items) != 0 || q.head != 0 || q.empty != 0 {
		t.Errorf("an empty queue keeps %d slots, head %d, %d empty", cap(q.items), q.head, q.empty)
	}
	again := new(task)
	q.push(again)
	if q.first() != again || q.remove(tasks[0]) || !q.remove(again) {
		t.Error("a queue that was emptied does not work again")
	}
}
