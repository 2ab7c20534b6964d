package execute

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// callsOf returns the running calls of a worker that runs these.
func callsOf(calls ...*Call) (r runs) {
	for _, k := range calls {
		r.add(k)
	}
	return r
}

// The calls are found by token, whichever of them began first and whichever ended first.
func TestRuns_AsAMap(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var r runs
		var token uint64
		want := map[uint64]*Call{}
		for range 200 {
			if random.IntN(2) == 0 && len(want) < 5 {
				token++
				k := &Call{token: token}
				want[token] = k
				r.add(k)
			} else if token > 0 {
				gone := 1 + random.Uint64N(token)
				r.remove(&Call{token: gone}) // another call with the number: nothing is removed
				if k := want[gone]; k != nil {
					delete(want, gone)
					r.remove(k)
					r.remove(k)
				}
			}
			for i := range token + 2 {
				if r.get(i) != want[i] {
					t.Fatalf("seed %d: call %d is %v, want %v", seed, i, r.get(i), want[i])
				}
			}
			var all []uint64
			for k := range r.all() {
				all = append(all, k.token)
			}
			slices.Sort(all)
			if k := r.only(); len(want) == 1 && k != want[all[0]] || len(want) != 1 && k != nil {
				t.Fatalf("seed %d: of %d calls %v is the only one", seed, len(want), k)
			}
			if len(all) != len(want) || r.len() != len(want) || len(slices.Compact(all)) != len(want) {
				t.Fatalf("seed %d: %d calls, %v, want %d", seed, r.len(), all, len(want))
			}
		}
	}
}

func TestRuns_AllStopsWhenAsked(t *testing.T) {
	r := callsOf(&Call{token: 1}, &Call{token: 2}, &Call{token: 3})
	for most := 1; most <= 3; most++ {
		seen := 0
		for range r.all() {
			if seen++; seen == most {
				break
			}
		}
		if seen != most {
			t.Errorf("the loop saw %d calls, want %d", seen, most)
		}
	}
}

// A call is found by its task among few and among many, whatever begins and ends between the questions. A task may have
// several runs: its first one, and others for results that were lost.
func TestRuns_OfATask_OneThatRuns(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		var r runs
		var list []*Call
		made, gone := 0, 0
		for token := range uint64(2000) {
			grows := token/400%2 == 0 // many run, and then few again
			if n := random.IntN(3); len(list) == 0 || grows && n > 0 || n == 0 {
				k := &Call{token: token + 1, Task: ids.Task{byte(random.IntN(100))}}
				k.again = slices.ContainsFunc(list, func(x *Call) bool { return x.Task == k.Task }) && random.IntN(4) > 0
				list = append(list, k)
				r.add(k)
			} else {
				i := random.IntN(len(list))
				r.remove(list[i])
				list = slices.Delete(list, i, i+1)
			}
			if random.IntN(4) == 0 {
				id := ids.Task{byte(random.IntN(101))}
				runs := slices.ContainsFunc(list, func(x *Call) bool { return x.Task == id })
				if k := r.of(id); runs != (k != nil) || k != nil && (k.Task != id || r.get(k.token) != k) {
					t.Fatalf("seed %d: the call of task %d is %+v, and one runs: %v", seed, id[0], k, runs)
				}
			}
			if r.byTask != nil {
				made++
			} else {
				gone++
			}
		}
		if made == 0 || gone == 0 {
			t.Errorf("seed %d: calls were looked for among many %d times, and among few %d times", seed, made, gone)
		}
	}
}

// Nobody is walked over for each cancellation: ten thousand calls that run are cancelled by as many looks.
// A call that was sent again over a new connection may run beside its first run.
func TestRuns_TwoOfOneTask_TheSecondIsFoundWhenTheFirstHasEnded(t *testing.T) {
	task := ids.Task{7}
	for what, again := range map[string]bool{"two runs": false, "a run for lost results": true} {
		var r runs
		for token := range uint64(2 * manyRuns) {
			r.add(&Call{token: token, Task: ids.Task{byte(token), 1}})
		}
		r.of(task)
		first, second := &Call{token: 1000, Task: task}, &Call{token: 1001, Task: task, again: again}
		r.add(first)
		r.add(second)
		r.remove(first)
		if k := r.of(task); k != second {
			t.Errorf("%s: found is %+v", what, k)
		}
		r.remove(second)
		if k := r.of(task); k != nil {
			t.Errorf("%s: found is %+v, which has ended", what, k)
		}
	}
}

func TestRuns_ManyAreLookedFor_EachIsFoundOverAnIndex(t *testing.T) {
	var r runs
	for token := range uint64(10_000) {
		r.add(&Call{token: token, Task: ids.Task{byte(token), byte(token >> 8), 1}})
	}
	r.of(ids.Task{})
	if len(r.byTask) != len(r.more) || len(r.more) < 9_999 {
		t.Fatalf("%d of %d calls are in the index", len(r.byTask), len(r.more))
	}
	for token := range uint64(10_000) {
		k := r.of(ids.Task{byte(token), byte(token >> 8), 1})
		if k == nil || k.token != token {
			t.Fatalf("the call %d is %+v", token, k)
		}
		r.remove(k)
	}
	if r.byTask != nil || r.len() != 0 {
		t.Errorf("%d calls run, and the index is kept: %v", r.len(), r.byTask != nil)
	}
}
