package client

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// maxHandedOver bounds each list in a will, and how many results and items all
// of its tasks may have together.
const maxHandedOver = 1 << 24

// readWill reads what a worker hands over. An heir lives in the daemon's
// process, so nothing in it may be taken on trust: a worker's memory may be
// corrupt when it writes its will.
func readWill(body []byte) (*will, error) {
	if err := wire.Check(body, maxHandedOver); err != nil {
		return nil, err
	}
	w := new(will)
	if err := msgpack.Unmarshal(body, w); err != nil {
		return nil, err
	}
	seen := make(map[ids.Object]bool, len(w.Objects))
	for i := range w.Objects {
		x := &w.Objects[i]
		id, err := ids.ParseObject(x.ID)
		switch {
		case err != nil:
			return nil, err
		case seen[id]:
			return nil, fmt.Errorf("object %s is handed over twice", id)
		case x.State > refs.Failed:
			return nil, fmt.Errorf("object %s is in state %d, which does not exist", id, x.State)
		case (x.State == refs.Failed || x.State == refs.Infeasible) && x.Fault == nil:
			return nil, fmt.Errorf("object %s has failed for no reason", id)
		}
		seen[id] = true
	}
	results := uint64(0)
	for i := range w.Tasks {
		if err := w.Tasks[i].check(&results); err != nil {
			return nil, err
		}
	}
	for i := range w.Actors {
		x := &w.Actors[i]
		if len(x.ID) != ids.ActorSize {
			return nil, fmt.Errorf("an actor's id of %d bytes is handed over", len(x.ID))
		}
		if x.Birth != nil {
			if err := x.Birth.Task.check(&results); err != nil {
				return nil, err
			}
		}
	}
	for i := range w.Serving {
		if n := len(w.Serving[i].Owner); n != ids.OwnerSize {
			return nil, fmt.Errorf("a borrower's id of %d bytes is handed over", n)
		}
	}
	for i := range w.Held {
		if n := len(w.Held[i].Caller); n != ids.OwnerSize {
			return nil, fmt.Errorf("a caller's id of %d bytes is handed over", n)
		}
	}
	for i := range w.Conns {
		if n := len(w.Conns[i].ActorID); n != 0 && n != ids.ActorSize {
			return nil, fmt.Errorf("a task socket of an actor with an id of %d bytes is handed over", n)
		}
	}
	if err := w.checkPlaces(); err != nil {
		return nil, err
	}
	return w, nil
}

// check refuses numbers that nothing can have come to; results is the sum so far.
func (x *willTask) check(results *uint64) error {
	if x.Returns < 0 || x.Items > maxHandedOver {
		return fmt.Errorf("a task with %d results and %d items is handed over", x.Returns, x.Items)
	}
	if *results += uint64(x.Returns) + x.Items; *results > maxHandedOver {
		return fmt.Errorf("tasks with more than %d results are handed over", maxHandedOver)
	}
	return nil
}
