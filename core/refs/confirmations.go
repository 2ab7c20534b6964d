package refs

import "github.com/eagleray/eagleray/core/ids"

// What a result refers to is held until its caller confirms that it has
// registered the references. A task may run here again before that, because a
// result of it was lost, so a task may have several unconfirmed results.
//
// A caller that has ended confirms nothing. Most callers have a control
// connection to this process, and its end tells (BorrowerGone). A caller that
// ended before it had a reason for a control connection is looked for when its
// task socket breaks: this process opens a control connection to the caller,
// which fails, or ends when the caller does (OwnerGone).

// confirmations are what is held for callers.
type confirmations struct {
	unconfirmed map[ids.Owner]map[ids.Task][][]*Object // for each run of a task
	lookedFor   map[string]ids.Owner                   // callers whose task socket broke, by address
}

// HoldResult keeps what a task's result refers to until its caller confirms the
// result. The objects are pinned already.
func (t *Table) HoldResult(caller ids.Owner, task ids.Task, list []*Object) {
	m := t.unconfirmed[caller]
	if m == nil {
		m = map[ids.Task][][]*Object{}
		if t.unconfirmed == nil {
			t.unconfirmed = map[ids.Owner]map[ids.Task][][]*Object{}
		}
		t.unconfirmed[caller] = m
	}
	m[task] = append(m[task], list)
}

// Confirmed notes that the caller has registered the references inside a
// result: the oldest one of the task that it had not confirmed.
func (t *Table) Confirmed(caller ids.Owner, task ids.Task) {
	m := t.unconfirmed[caller]
	if runs := m[task]; len(runs) > 0 {
		t.UnpinAll(runs[0])
		if len(runs) > 1 {
			m[task] = runs[1:]
		} else {
			delete(m, task)
		}
		if len(m) == 0 {
			delete(t.unconfirmed, caller)
		}
	}
	t.CarryOut()
	t.effects.Needed()
}

// CallerLost is told that the task socket of a caller has broken. The address is the caller's.
func (t *Table) CallerLost(caller ids.Owner, addr string) {
	if len(t.unconfirmed[caller]) == 0 || t.effects.Connected(caller) {
		return
	}
	if t.lookedFor == nil {
		t.lookedFor = map[string]ids.Owner{}
	}
	t.lookedFor[addr] = caller
	t.effects.Reach(addr)
}

// callerGone lets go of what is held for the caller at an address that is gone.
func (t *Table) callerGone(addr string) {
	who, ok := t.lookedFor[addr]
	if !ok {
		return
	}
	delete(t.lookedFor, addr)
	if !t.effects.Connected(who) {
		t.dropUnconfirmed(who)
		t.CarryOut()
		t.effects.Needed()
	}
}

// dropUnconfirmed lets go of what a caller that is gone had not confirmed.
func (t *Table) dropUnconfirmed(caller ids.Owner) {
	for _, runs := range t.unconfirmed[caller] {
		for _, list := range runs {
			t.UnpinAll(list)
		}
	}
	delete(t.unconfirmed, caller)
}

// EachUnconfirmed calls f with what each unconfirmed result refers to.
func (t *Table) EachUnconfirmed(f func(caller ids.Owner, task ids.Task, list []*Object)) {
	for caller, m := range t.unconfirmed {
		for task, runs := range m {
			for _, list := range runs {
				f(caller, task, list)
			}
		}
	}
}

// Unconfirmed reports whether a caller has not confirmed a result.
func (t *Table) Unconfirmed() bool { return len(t.unconfirmed) > 0 }

// UnpinAll is Unpin for each of them.
func (t *Table) UnpinAll(list []*Object) {
	for _, o := range list {
		t.Unpin(o)
	}
}
