package refs

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// FailUnrecoverable ends an object of ours that is lost and cannot be computed again.
func (t *Table) FailUnrecoverable(o *Object) {
	f := unrecoverable(o)
	if node := t.lostWith[o.ID]; node != "" {
		f.Message += ". Its last copy was on " + node + ", which is dead or cannot be reached"
	}
	t.Fail(o, f)
}

// LostWith notes with which node each of these objects was lost, "" where that is not known. It replaces what was noted before.
func (t *Table) LostWith(list [][]byte, nodes []string) {
	t.lostWith = nil
	for i, raw := range list[:min(len(list), len(nodes))] {
		id, err := ids.ParseObject(raw)
		if err != nil || nodes[i] == "" {
			continue
		}
		if t.lostWith == nil {
			t.lostWith = make(map[ids.Object]string)
		}
		t.lostWith[id] = nodes[i]
	}
}

// unrecoverable says why an object that is lost stays so.
func unrecoverable(o *Object) *fault.Error {
	why := Whole
	if o.recipe != nil {
		why = o.recipe.why
	}
	switch {
	case o.ID.Index() == 0:
		return fault.New(fault.LostPut, "object %s is lost, and cannot be computed again: put() made it, or it was a large argument, and no task returns it", o.ID)
	case why == Forgotten:
		return fault.New(fault.LostEvicted, "object %s is lost, and cannot be computed again: the task that returned it was forgotten to save memory (RAY_max_lineage_bytes bounds it; values that only such tasks need may take a quarter of the object store)", o.ID)
	case why == Exhausted:
		return fault.New(fault.LostExhausted, "object %s is lost, and cannot be computed again: the maximum number of task retries has been exceeded by the task that returned it (max_retries, max_task_retries)", o.ID)
	case why == NoRetries:
		return fault.New(fault.LostNoRetries, "object %s is lost, and cannot be computed again: the task that returned it was submitted without retries (max_retries=0; of actors max_task_retries=0, the default)", o.ID)
	case why == Off:
		return fault.New(fault.LostLineageOff, "object %s is lost, and cannot be computed again: RAY_lineage_pinning_enabled is off", o.ID)
	}
	return fault.New(fault.ObjectLost, "object %s is lost: the store has no copy of it", o.ID)
}
