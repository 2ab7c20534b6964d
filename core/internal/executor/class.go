package executor

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/actorclass"
	"github.com/eagleray/eagleray/core/internal/execute"
)

// fetchClass gets the large class of the actor that this worker starts from the
// cluster's state; mu held, released meanwhile.
func (x *Executor) fetchClass(k *execute.Call) error {
	if len(k.Actor.Code) == 0 {
		return nil
	}
	class, err := x.readClass(k.Actor.Code)
	if err != nil {
		return fault.New(fault.CodeOf(err), "actor %s cannot start: its class, which the cluster keeps, could not be fetched: %v", k.Actor.ClassName, err)
	}
	x.exec.Fetched(k.Tmpl.FID, class)
	return nil
}

// readClass asks the daemon for a class. The mutex is held, and released meanwhile.
func (x *Executor) readClass(code []byte) ([]byte, error) {
	x.mu.Unlock()
	defer x.mu.Lock()
	return actorclass.Fetch(x.objects, code)
}
