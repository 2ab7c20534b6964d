package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// task is what the queues of these tests hold.
type task struct{ place int64 }

// tasks is a queue whose elements keep their places.
type tasks struct{ FIFO[task] }

func (q *tasks) push(t *task) { t.place = q.Push(t) }

func (q *tasks) pushFront(ts []*task) {
	first := q.PushFront(ts)
	for i, t := range ts {
		t.place = first + int64(i)
	}
}

func (q *tasks) remove(t *task) bool {
	return q.Remove(t, t.place, func(t *task, place int64) { t.place = place })
}

func all(q *tasks) (out []*task) {
	q.Each(func(t *task) { out = append(out, t) })
	return out
}

// Against a plain slice: pushes at both ends, pops, removals of members and of strangers.
func TestFifo_RandomOperations_LikeSlice(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		var q tasks
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
				if q.First() != model[0] || q.Pop() != model[0] {
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
			if q.Len() != len(model) {
				t.Fatalf("seed %d, step %d: length %d, want %d", seed, step, q.Len(), len(model))
			}
		}
		if !slices.Equal(all(&q), model) {
			t.Fatalf("seed %d: the order is another one", seed)
		}
	}
}

// A queue that was long gives its memory back: places that were left are cleared, and an empty one keeps no large array.
func TestFifo_LongQueueIsEmptied_MemoryIsGivenBack(t *testing.T) {
	const n = 20_000
	var q tasks
	var tasks []*task
	for range n {
		x := new(task)
		tasks = append(tasks, x)
		q.push(x)
	}
	for i := range n * 2 / 3 {
		if q.Pop() != tasks[i] {
			t.Fatalf("task %d did not come in its turn", i)
		}
	}
	rest := tasks[n*2/3:]
	if len(q.items) > n*2/3 || !slices.Equal(all(&q), rest) {
		t.Errorf("%d slots are kept for %d tasks", len(q.items), len(rest))
	}
	for i, x := range q.items[:cap(q.items)] {
		if i >= len(q.items) && x != nil {
			t.Fatalf("slot %d, behind the queue, still holds a task", i)
		}
	}
	if !q.remove(rest[5]) || q.remove(tasks[0]) || q.Len() != len(rest)-1 {
		t.Errorf("%d tasks are left, want %d", q.Len(), len(rest)-1)
	}
	for q.Len() > 0 {
		q.Pop()
	}
	if cap(q.items) != 0 || q.head != 0 || q.empty != 0 {
		t.Errorf("an empty queue keeps %d slots, head %d, %d empty", cap(q.items), q.head, q.empty)
	}
	again := new(task)
	q.push(again)
	if q.First() != again || q.remove(tasks[0]) || !q.remove(again) {
		t.Error("a queue that was emptied does not work again")
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
	var q tasks
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
	if q.Len() != 0 || len(q.items) > 2*manyEmpty {
		t.Fatalf("%d tasks and %d slots are left", q.Len(), len(q.items))
	}
	return took
}
