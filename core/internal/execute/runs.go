package execute

import (
	"iter"

	"github.com/eagleray/eagleray/core/ids"
)

// runs are the running calls, by token. Most processes run one call at a time,
// and that one needs no entry of the map. The zero value is empty and ready.
type runs struct {
	one  *Call            // nil: there is none, or all are in more
	more map[uint64]*Call // the others

	// byTask finds the calls in more by their task. It is made when a task is
	// looked for among many, and goes with the last of them, so that calls that
	// nobody looks for pay nothing for it.
	byTask map[ids.Task]*Call
	twice  bool // byTask lacks a call, since another one has the same task
}

// manyRuns is from how many running calls on byTask is made.
const manyRuns = 32

func (r *runs) len() int {
	if r.one != nil {
		return 1 + len(r.more)
	}
	return len(r.more)
}

// get returns the call of a token, nil when it does not run.
func (r *runs) get(token uint64) *Call {
	if k := r.one; k != nil && k.token == token {
		return k
	}
	return r.more[token]
}

// only returns the call that runs when no other one does, else nil.
func (r *runs) only() *Call {
	if len(r.more) == 0 {
		return r.one
	}
	if r.len() == 1 {
		for _, k := range r.more {
			return k
		}
	}
	return nil
}

// add takes a call that has its token.
func (r *runs) add(k *Call) {
	if r.one == nil {
		r.one = k
		return
	}
	if r.more == nil {
		r.more = map[uint64]*Call{}
	}
	r.more[k.token] = k
	if r.byTask != nil {
		r.index(k)
	}
}

// remove forgets a call. It need not run.
func (r *runs) remove(k *Call) {
	if r.one == k {
		r.one = nil
	} else if len(r.more) > 0 && r.more[k.token] == k {
		delete(r.more, k.token)
		if r.byTask != nil {
			r.forget(k)
		}
	}
}

// index puts a call into byTask. Of several runs of a task it has one for lost results, if there is one.
func (r *runs) index(k *Call) {
	other := r.byTask[k.Task]
	if k.again || other == nil {
		r.byTask[k.Task] = k
	}
	r.twice = r.twice || other != nil
}

// forget takes a call out of byTask.
func (r *runs) forget(k *Call) {
	switch {
	case len(r.more) == 0 || r.twice: // another run of the task may still go on
		r.byTask, r.twice = nil, false
	case r.byTask[k.Task] == k:
		delete(r.byTask, k.Task)
	}
}

// of returns the call of a task, nil when none runs.
func (r *runs) of(id ids.Task) *Call {
	if r.one != nil && r.one.Task == id {
		return r.one
	}
	if r.byTask == nil && len(r.more) >= manyRuns {
		r.byTask = make(map[ids.Task]*Call, len(r.more))
		for _, k := range r.more {
			r.index(k)
		}
	}
	if r.byTask != nil {
		return r.byTask[id]
	}
	for _, k := range r.more {
		if k.Task == id {
			return k
		}
	}
	return nil
}

// all yields the calls in no order.
func (r *runs) all() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		if r.one != nil && !yield(r.one) {
			return
		}
		for _, k := range r.more {
			if !yield(k) {
				return
			}
		}
	}
}
