package resource

// Share is a part of one device, at most one whole.
type Share struct {
	ID     string
	Amount Amount
}

// Allocation is what Acquire took out of a ledger until Release.
type Allocation struct {
	need    Set
	shares  map[string][]share
	ledger  *Ledger
	blocked bool
}

type share struct {
	index  int // into the ledger's devices of that name
	amount Amount
}

// Resources returns a copy of the amounts.
func (a *Allocation) Resources() Set { return a.need.Clone() }

// Blocked reports whether the allocation's CPU is given back for a while.
func (a *Allocation) Blocked() bool { return a.blocked }

// Shares returns the devices by resource name, in the ledger's order.
func (a *Allocation) Shares() map[string][]Share {
	m := make(map[string][]Share, len(a.shares))
	for name, shares := range a.shares {
		for _, s := range shares {
			m[name] = append(m[name], Share{a.ledger.devices[name][s.index].id, s.amount})
		}
	}
	return m
}

// DeviceIDs returns the ids of the devices by resource name.
func (a *Allocation) DeviceIDs() map[string][]string {
	m := make(map[string][]string, len(a.shares))
	for name, shares := range a.shares {
		for _, s := range shares {
			m[name] = append(m[name], a.ledger.devices[name][s.index].id)
		}
	}
	return m
}
