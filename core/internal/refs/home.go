package refs

import "slices"

// The home of an object is the node on which this process believes that the value lies in a store: where the task ran that made it, as its
// owner or the node of a task that took it says. It is a hint by which tasks are sent to their large arguments, and may be wrong: values are copied to
// other nodes, and copies go. Objects have a byte for it, which names one of the table's homes.

// Elsewhere is the home of an object that lies on another node, and nobody noted on which.
const Elsewhere = ^uint32(0)

// elsewhere is the byte of Elsewhere. A table knows one node less than there are other bytes.
const elsewhere = ^uint8(0)

// Home returns the number of the other node on which an object's value lies, 0 for this process's own node.
func (t *Table) Home(o *Object) uint32 {
	switch o.home {
	case 0:
		return 0
	case elsewhere:
		return Elsewhere
	}
	return t.homes[o.home-1]
}

// SetHome notes the node on which an object's value lies, by its number. 0 is this process's own node, whose number does as well.
func (t *Table) SetHome(o *Object, node uint32) {
	if node == 0 || node == t.self.Node() {
		o.home = 0
		return
	}
	i := slices.Index(t.homes, node)
	switch {
	case i >= 0:
	case node == Elsewhere || len(t.homes) == int(elsewhere)-1:
		o.home = elsewhere
		return
	default:
		i = len(t.homes)
		t.homes = append(t.homes, node)
	}
	o.home = uint8(i + 1)
}

// HasHomes reports whether a value was ever noted to lie on another node.
func (t *Table) HasHomes() bool { return len(t.homes) > 0 }

// HomeNumber is Home as other processes have it: the own node has its number, and 0 says that nothing is known.
func (t *Table) HomeNumber(o *Object) uint32 {
	switch home := t.Home(o); home {
	case 0:
		return t.self.Node()
	case Elsewhere:
		return 0
	default:
		return home
	}
}

// learnHome notes where the owner of a borrowed object says that its value lies; 0: it does not say. Then it is taken for the
// owner's own node, on which lies what a program puts.
func (t *Table) learnHome(o *Object, said uint32) {
	if said == 0 {
		said = o.ID.Owner().Node()
	}
	t.SetHome(o, said)
}
