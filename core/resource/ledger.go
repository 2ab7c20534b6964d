package resource

import (
	"fmt"
	"slices"
)

// Ledger is what one node has and what of it is free.
type Ledger struct {
	totals  Set
	free    Set
	devices map[string][]device // of device-like resources
	held    map[*Allocation]struct{}
}

type device struct {
	id   string
	free Amount
}

// NewLedger returns a ledger with everything free. devices lists the ids of
// device-like resources in the order in which they are handed out; their total
// is their number, and totals may only agree.
func NewLedger(totals Set, devices map[string][]string) (*Ledger, error) {
	l := &Ledger{
		totals:  totals.Clone().Trim(),
		devices: make(map[string][]device, len(devices)),
		held:    make(map[*Allocation]struct{}),
	}
	for _, name := range sortedNames(totals) {
		if totals[name] < 0 {
			return nil, fmt.Errorf("total of resource %s: %s %w", name, totals[name], ErrNegative)
		}
	}
	for _, name := range sortedNames(devices) {
		ids := devices[name]
		total := FromInt(int64(len(ids)))
		if t, ok := totals[name]; ok && t != total {
			return nil, fmt.Errorf("total of resource %s is %s, but it has %d devices", name, t, len(ids))
		}
		seen := make(map[string]bool, len(ids))
		for _, id := range ids {
			if seen[id] {
				return nil, fmt.Errorf("resource %s has the device %q twice", name, id)
			}
			seen[id] = true
			l.devices[name] = append(l.devices[name], device{id, Unit})
		}
		if total > 0 {
			l.totals[name] = total
		}
	}
	l.free = l.totals.Clone()
	return l, nil
}

// Totals returns a copy of what the node has.
func (l *Ledger) Totals() Set { return l.totals.Clone() }

// Free returns a copy of what is free now; CPU may be negative.
func (l *Ledger) Free() Set { return l.free.Clone() }

// CanEver reports whether need fits an idle node, and if not, what is short.
func (l *Ledger) CanEver(need Set) (why string, ok bool) {
	if why = Shortage(need, l.totals); why != "" {
		return why, false
	}
	for _, name := range sortedNames(need) {
		if _, isDevice := l.devices[name]; isDevice && need[name] > Unit && !need[name].Whole() {
			return fmt.Sprintf("%s: asked %s, more than 1 must be a whole number", name, need[name]), false
		}
	}
	return "", true
}

// Fits reports whether Acquire would succeed now.
func (l *Ledger) Fits(need Set) bool {
	if !need.Fits(l.free) {
		return false
	}
	for name, devices := range l.devices {
		if a := need[name]; a > 0 && !devicesFit(devices, a) {
			return false
		}
	}
	return true
}

// Acquire takes need out of the ledger, all or nothing. A fraction goes to the
// fullest device that still has it, wholes to free devices, the first in the
// list before the others.
func (l *Ledger) Acquire(need Set) (*Allocation, bool) {
	if !l.Fits(need) {
		return nil, false
	}
	a := &Allocation{need: make(Set, len(need)), ledger: l}
	for name, amount := range need {
		if amount <= 0 {
			continue
		}
		a.need[name] = amount
		if devices := l.devices[name]; devices != nil {
			if a.shares == nil {
				a.shares = make(map[string][]share, 1)
			}
			a.shares[name] = takeDevices(devices, amount)
		}
	}
	l.free.Sub(a.need)
	l.held[a] = struct{}{}
	return a, true
}

// Release gives an allocation back. A second release, or one of another
// ledger's allocation, does nothing.
func (l *Ledger) Release(a *Allocation) {
	if _, ok := l.held[a]; !ok {
		return
	}
	delete(l.held, a)
	for name, amount := range a.need {
		if name != CPU || !a.blocked {
			l.free[name] += amount
		}
	}
	for name, shares := range a.shares {
		for _, s := range shares {
			l.devices[name][s.index].free += s.amount
		}
	}
}

// BlockCPU gives the allocation's CPU back while its task waits.
func (l *Ledger) BlockCPU(a *Allocation) {
	if _, ok := l.held[a]; !ok || a.blocked {
		return
	}
	a.blocked = true
	l.giveCPU(a.need[CPU])
}

// UnblockCPU takes the CPU back at once, even when others have it by now: the
// balance may become negative, and nothing that needs CPU fits until it is not.
func (l *Ledger) UnblockCPU(a *Allocation) {
	if _, ok := l.held[a]; !ok || !a.blocked {
		return
	}
	a.blocked = false
	l.giveCPU(-a.need[CPU])
}

func (l *Ledger) giveCPU(a Amount) {
	if a != 0 {
		l.free[CPU] += a
	}
}

// devicesFit reports whether takeDevices would find a.
func devicesFit(devices []device, a Amount) bool {
	if a < Unit {
		return slices.ContainsFunc(devices, func(d device) bool { return d.free >= a })
	}
	if !a.Whole() {
		return false
	}
	n := a / Unit
	for _, d := range devices {
		if d.free == Unit {
			n--
		}
	}
	return n <= 0
}

// takeDevices debits a, which fits, and says from where.
func takeDevices(devices []device, a Amount) []share {
	if a < Unit {
		best := -1
		for i, d := range devices {
			if d.free >= a && (best < 0 || d.free < devices[best].free) {
				best = i
			}
		}
		devices[best].free -= a
		return []share{{best, a}}
	}
	shares := make([]share, 0, a/Unit)
	for i := range devices {
		if devices[i].free == Unit && Amount(len(shares)) < a/Unit {
			devices[i].free = 0
			shares = append(shares, share{i, Unit})
		}
	}
	return shares
}
