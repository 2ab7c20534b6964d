package submit

import (
	"fmt"
	"maps"
	"slices"
)

// homes restores what the classes have asked of other nodes. Those know the classes.
func (r *Restored) homes() error {
	for _, x := range r.s.Homes {
		k := r.c.Classes[x.Class]
		switch {
		case k == nil:
			return fmt.Errorf("restore what node %d was asked for: class %d is not part of the snapshot", x.Node, x.Class)
		case x.Node == r.c.Self.Node():
			return fmt.Errorf("restore what other nodes were asked for: node %d is this node", x.Node)
		case !k.RestoreHome(x.Node, x.Answers):
			return fmt.Errorf("restore what node %d was asked for: class %d occurs twice", x.Node, x.Class)
		}
	}
	return nil
}

// lost restores the leases of other nodes whose workers have ended, before their daemons have said how.
func (r *Restored) lost() error {
	c := r.c
	for i := range r.s.Lost {
		x := &r.s.Lost[i]
		if err := r.checkLease(x.LeaseID, x.Class, x.Choice); err != nil {
			return err
		}
		l := &Lease{ID: x.LeaseID, Node: c.away(x.LeaseID), Class: c.Classes[x.Class], Busy: len(x.Tasks), Recall: true, Gone: true, Choice: x.Choice}
		if l.Node == 0 {
			return fmt.Errorf("restore lease %d: its worker has ended, and it is of this node", x.LeaseID)
		}
		for _, n := range x.Tasks {
			l.Lost = append(l.Lost, r.tasks[n])
		}
		c.Leases[l.ID] = l
	}
	return nil
}

// Homes returns the numbers of the other nodes that have leases of this process, or were asked for some. Of each the
// session has the connection to its daemon, or calls HomeLost after Resume.
func (r *Restored) Homes() []uint32 {
	all := map[uint32]bool{}
	for _, x := range r.s.Homes {
		all[x.Node] = true
	}
	for _, l := range r.c.Leases {
		if l.Node != 0 {
			all[l.Node] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
