package access

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
)

// SelectNow looks for the first need objects of a list that are ready, and puts
// their places into pick. It does not wait. sure means that Select would find out
// nothing more at this moment. For here see WaitHere.
func (a *Objects) SelectNow(list []*ids.Object, need int, here bool, pick []uint32) (got int, sure bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, id := range list {
		o, err := a.Find(*id)
		if err != nil {
			return 0, false
		}
		if !o.State().Ready() {
			continue
		}
		if here && localstore.MustFetch(o) {
			return 0, false
		}
		if o.IsError() {
			o.MarkSeen()
		}
		pick[got] = uint32(i)
		if got++; got == need {
			break
		}
	}
	return got, true
}

// Select waits like Wait, and puts the places of the first need objects that are
// ready into pick. done means that the wait ended before the timeout.
func (a *Objects) Select(list []*ids.Object, need int, timeout time.Duration, here bool, pick []uint32) (got int, done bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	objs, err := a.lookUp(list)
	if err != nil {
		return 0, false, err
	}
	defer a.scratched(objs)
	mode := WaitSome
	if here {
		mode = WaitHere
	}
	if done, err = a.waitMany(context.Background(), objs, need, timeout, mode); err != nil {
		return 0, false, err
	}
	for i, o := range objs {
		if a.counts(o, mode) {
			if o.IsError() {
				o.MarkSeen()
			}
			pick[got] = uint32(i)
			if got++; got == need {
				break
			}
		}
	}
	return got, done, nil
}

// keptScratch is how many objects a list may have so that its memory is used again.
const keptScratch = 1 << 14
