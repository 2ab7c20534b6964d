package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A second run that nothing can execute for now says so of the items that it is to make, and makes them when something can.
func TestInfeasible_SecondRunOfAGenerator_ItsItemsComeLater(t *testing.T) {
	c := newQuiet(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.table.New(1, 1).ID.Count()
	c.table.Reserve(1)
	o := c.table.Place(first+1, 2)
	c.table.Pin(o)
	k := &Task{Template: &Template{Flow: frame.Flow{Mode: frame.FlowStream}}, First: first, Returns: 1}
	k.Generator = generatorWith("own", first, "task", k, "got", 1, "left", true, "again", true)
	o.SetSource(k)
	c.infeasible(k, fault.New(fault.TaskUnschedulable, "no node has it"))
	if o.State() != refs.Infeasible || !c.Generators.Makes(k.Generator) {
		t.Errorf("the item is in state %d, and the run makes it: %v", o.State(), c.Generators.Makes(k.Generator))
	}
	c.eachReturn(k, func(_ int, o *refs.Object) { c.table.Feasible(o) })
	if o.State() != refs.Pending {
		t.Errorf("the item is in state %d when the run can be executed", o.State())
	}
	o.SetSource(nil)
}
