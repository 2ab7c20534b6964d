package binding

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

func (a *args) objects() ([]ids.Object, error) {
	list := make([]ids.Object, len(a.ObjectIDs))
	for i, raw := range a.ObjectIDs {
		id, err := ids.ParseObject(raw)
		if err != nil {
			return nil, fault.New(fault.BadRequest, "%v", err)
		}
		list[i] = id
	}
	return list, nil
}

// freeObjects lets values go, whoever refers to them.
func freeObjects(k *caller, a *args) (any, error) {
	list, err := a.objects()
	if err != nil {
		return nil, err
	}
	return nil, k.c.Free(list)
}

// loseObjects makes the store forget its copies, for tests; it answers how many are gone.
func loseObjects(k *caller, a *args) (any, error) {
	list, err := a.objects()
	if err != nil {
		return nil, err
	}
	n := 0
	for _, id := range list {
		gone, err := k.c.Lose(id)
		if err != nil {
			return n, err
		}
		if gone {
			n++
		}
	}
	return n, nil
}
