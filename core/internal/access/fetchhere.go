package access

import (
	"context"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// A wait with WaitHere counts a value that lies on another node when it has come to this one. The process knows which those are by the homes that its
// table notes, so nobody is asked where there is one node only. What was begun to be fetched goes on when the wait ends before: programs wait again.

// fetchAhead is how many more values are fetched than a wait needs.
const fetchAhead = 16

// isAway reports whether the value of an object, which is ready, lies on another node.
func (a *Objects) isAway(o *refs.Object) bool { return localstore.MustFetch(o) && a.table.Home(o) != 0 }

// counts reports whether an object is ready as a wait means it.
func (a *Objects) counts(o *refs.Object, mode WaitMode) bool {
	return o.State().Ready() && (mode != WaitHere || !a.isAway(o))
}

// waitFetched waits until need of the objects are ready and here, and reports whether it ended before the deadline; mu held, released meanwhile.
func (a *Objects) waitFetched(ctx context.Context, objs []*refs.Object, need int, deadline time.Time) (done bool, err error) {
	for a.table.HasHomes() {
		missing, open := need, 0
		for _, o := range objs {
			switch {
			case a.counts(o, WaitHere):
				missing--
			case o.State() != refs.Infeasible:
				open++
			}
		}
		if missing <= 0 || open == 0 {
			break
		}
		w := wait.New().For(missing, open, false)
		a.fetchAway(objs, missing, w)
		a.table.WatchAll(w, objs)
		unlisten := a.endsWith(ctx, w)
		err = a.awaitLooking(w, deadline)
		unlisten()
		a.table.UnwatchAll(w)
		a.leaveFetches(w)
		switch {
		case a.closed:
			return false, a.why
		case err != nil || !w.Over() || w.GaveUp():
			return false, err
		}
	}
	return true, nil
}

// fetchAway fetches values of a list that lie on other nodes, as many as are needed and a few more. The wait, if there is one, counts each that has come.
func (a *Objects) fetchAway(objs []*refs.Object, need int, w *wait.Wait) {
	if !a.table.HasHomes() {
		return
	}
	most := need + fetchAhead
	for _, o := range objs {
		if !o.State().Ready() || !a.isAway(o) {
			continue
		}
		if most--; most < 0 {
			return
		}
		waits, begun := a.fetches[o.ID]
		if w != nil && !slices.Contains(waits, w) {
			waits = append(waits, w)
		}
		if a.fetches == nil {
			a.fetches = map[ids.Object][]*wait.Wait{}
		}
		if a.fetches[o.ID] = waits; !begun {
			go a.fetchHere(o.ID)
		}
	}
}

// leaveFetches notes that a wait does not count any more what comes.
func (a *Objects) leaveFetches(w *wait.Wait) {
	for id, waits := range a.fetches {
		if i := slices.Index(waits, w); i >= 0 {
			a.fetches[id] = slices.Delete(waits, i, i+1)
		}
	}
}

// fetchHere fetches a value and tells the waits that count it. A value that cannot be fetched counts as being here: who gets it hears why.
func (a *Objects) fetchHere(id ids.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o := a.table.Find(id); o != nil && a.isAway(o) {
		v, err := a.local.PinStored(o, time.Time{})
		switch {
		case err == nil:
			a.local.Unhold(v)
			a.table.SetHome(o, 0)
		case nodestore.IsLost(err):
			a.table.Missed(o)
		default:
			a.table.SetHome(o, 0)
		}
	}
	waits := a.fetches[id]
	delete(a.fetches, id)
	for _, w := range waits {
		if !w.Over() && w.Ready(false) {
			a.poller.Finish(w)
		}
	}
}
