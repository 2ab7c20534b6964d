package access

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Free frees the values of objects, whoever holds references to them. A later get of such an
// object fails and says that it was freed, and the object is not computed again. An object
// that is not ready stays as it is. When Free returns, owners in other processes have heard.
func (a *Objects) Free(list []ids.Object) error {
	heard, asked, err := a.freeAll(list)
	if err != nil {
		return err
	}
	for range asked {
		if err := <-heard; fault.CodeOf(err) == fault.BadRequest {
			return err
		}
	}
	return nil
}

// freeAll frees the values of our own objects and asks the owners of the other objects to do so. It returns how many
// answers of owners will come.
func (a *Objects) freeAll(list []ids.Object) (heard <-chan error, asked int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, 0, a.why
	}
	answers := make(chan error, len(list))
	for _, id := range list {
		o, err := a.Find(id)
		if err != nil {
			return nil, 0, err
		}
		if o.Owned() {
			a.table.FreeValue(o)
			continue
		}
		asked++
		a.borrows.FreeAtOwner(o, false, func(err error) { answers <- err })
		if o.State().Ready() && !o.IsToken() { // what the owner says next holds
			a.table.ForgetValue(o)
			a.table.Ask(o, false)
		}
	}
	a.table.CarryOut()
	return answers, asked, nil
}

// losePatience is how long Lose waits for other processes to unpin the object.
const losePatience = time.Second

// Lose makes the store forget its copy of an object, as if it had been lost: for
// tests of what follows. It reports whether the copy is gone: nobody gets it any
// more, and its memory waits only for those who look at it now.
func (a *Objects) Lose(id ids.Object) (bool, error) {
	list := wire.ObjRefs{ObjectIDs: [][]byte{id[:]}}
	// Whoever wrote it may not have said yet that it did, and who has read it that it is done.
	for deadline := time.Now().Add(losePatience); ; time.Sleep(time.Millisecond) {
		if err := a.loseCopy(id); err != nil {
			return false, err
		}
		var lacks wire.ObjMissing
		if err := a.daemon.Call(context.Background(), wire.TObjCheck, list, &lacks); err != nil {
			return false, err
		}
		if len(lacks.ObjectIDs) == 1 || time.Now().After(deadline) {
			return len(lacks.ObjectIDs) == 1, nil
		}
	}
}

// loseCopy releases the copy here, tells the owner to free it, and waits until the owner has heard.
func (a *Objects) loseCopy(id ids.Object) error {
	heard, err := a.dropCopy(id)
	if heard != nil {
		<-heard
	}
	return err
}

// dropCopy releases the copy here and tells the owner to free it. The answer of an owner in another process closes heard.
func (a *Objects) dropCopy(id ids.Object) (heard <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.TakeDrops()
	o, err := a.Find(id)
	if err != nil {
		return nil, err
	}
	if o.Owned() {
		a.table.FreeCopy(id)
		return nil, nil
	}
	a.local.ValueFreed(id)
	done := make(chan struct{})
	a.borrows.FreeAtOwner(o, true, func(error) { close(done) })
	return done, nil
}
