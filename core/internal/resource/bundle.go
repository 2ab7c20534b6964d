package resource

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A placement group sets parts of nodes aside. Such a part is a bundle. A ledger takes what a bundle needs as for a task, and makes a ledger
// of its own of it, so that work of the group is given amounts and devices there by the same rules. What is asked of a bundle has names of its
// own, as users know them from Ray, so one Set says also where its amounts are to come from:
//
//	CPU_group_2_HEX   CPUs of bundle 2 of the group with the id HEX
//	CPU_group_HEX     CPUs of one of its bundles, whichever has all that the set names
//
// Each set of this kind has some of the resource Marker, of which every bundle has plenty, so that work that needs nothing runs on a node with
// the bundle all the same.

// BundleID names a bundle of a placement group.
type BundleID struct {
	Group string // its id, in hexadecimal digits
	Index int    // of the bundle, from 0, or AnyBundle
}

// AnyBundle is the index of a BundleID that stands for all bundles of a group.
const AnyBundle = -1

// Marker is the resource that only bundles have.
const Marker = "bundle"

const (
	markerTotal = 1000 * Unit // that a bundle has
	markerEach  = Unit / 1000 // that work in it takes
	inGroup     = "_group_"
)

// suffix is what the names of resources of the bundle have at their ends.
func (id BundleID) suffix() string {
	if id.Index < 0 {
		return inGroup + id.Group
	}
	return inGroup + strconv.Itoa(id.Index) + "_" + id.Group
}

// group is the suffix for all bundles of the group.
func (id BundleID) group() string { return BundleID{Group: id.Group, Index: AnyBundle}.suffix() }

// String is what messages call the bundle.
func (id BundleID) String() string {
	if id.Index < 0 {
		return "placement group " + id.Group
	}
	return fmt.Sprintf("bundle %d of placement group %s", id.Index, id.Group)
}

// InBundle returns what work that needs a set asks of a bundle.
func InBundle(need Set, id BundleID) Set {
	suffix := id.suffix()
	s := make(Set, len(need)+1)
	for name, a := range need {
		if a > 0 {
			s[name+suffix] = a
		}
	}
	s[Marker+suffix] = markerEach
	return s
}

// Outside returns what InBundle made a set of, and the bundle. It reports false for a set that asks nothing of bundles.
func Outside(s Set) (need Set, id BundleID, ok bool) {
	suffix := suffixOf(s)
	if suffix == "" {
		return s, id, false
	}
	id, ok = parseSuffix(suffix)
	return strip(s, suffix), id, ok
}

// AsksBundle reports whether a set asks something of bundles.
func AsksBundle(s Set) bool { return suffixOf(s) != "" }

// suffixOf returns the suffix of the bundle of which a set asks something; it is empty if there is none.
func suffixOf(s Set) string {
	for name := range s {
		if rest, ok := strings.CutPrefix(name, Marker); ok && strings.HasPrefix(rest, inGroup) {
			return rest
		}
	}
	return ""
}

func parseSuffix(suffix string) (id BundleID, ok bool) {
	rest, ok := strings.CutPrefix(suffix, inGroup)
	if !ok {
		return id, false
	}
	index, group, indexed := strings.Cut(rest, "_")
	if !indexed {
		return BundleID{Group: rest, Index: AnyBundle}, rest != ""
	}
	n, err := strconv.Atoi(index)
	return BundleID{Group: group, Index: n}, err == nil && n >= 0 && group != ""
}

// IsBundleName reports whether a resource has a name as Totals and Free give to what bundles have. A program may use such a name for a resource of its own, as under
// Ray.
func IsBundleName(name string) bool { return name == Marker || strings.Contains(name, inGroup) }

// strip returns what a set asks of the bundle with a suffix, by the names that these amounts have in the bundle's ledger. A name without the
// suffix stays, and the bundle does not have it.
func strip(s Set, suffix string) Set {
	out := make(Set, len(s))
	for name, a := range s {
		if a > 0 {
			out[strings.TrimSuffix(name, suffix)] = a
		}
	}
	return out
}

// bundle is a part of a node that is set aside.
type bundle struct {
	id      BundleID
	outer   *Ledger
	hold    *Allocation // of outer
	inner   *Ledger     // nil until Commit
	dropped bool
}

// Prepare takes what a bundle needs, all or nothing. Nothing is given out of it before Commit. A bundle that is there already stays as it is; the
// result is whether it is one of the same need.
func (l *Ledger) Prepare(id BundleID, need Set) bool {
	if b := l.bundles[id.suffix()]; b != nil {
		return b.hold.need.Equal(need)
	}
	hold, ok := l.acquire(need)
	if !ok {
		return false
	}
	l.add(&bundle{id: id, outer: l, hold: hold})
	return true
}

// FitsAll reports whether Prepare would succeed now for bundles with these needs, one after the other. The ledger is that of a node.
func (l *Ledger) FitsAll(needs []Set) bool {
	before := l.changes
	holds := make([]*Allocation, 0, len(needs))
	for _, need := range needs {
		a, ok := l.acquire(need)
		if !ok {
			break
		}
		holds = append(holds, a)
	}
	for _, a := range holds {
		l.Release(a)
	}
	l.changes = before // all is as it was
	return len(holds) == len(needs)
}

func (l *Ledger) add(b *bundle) {
	if l.bundles == nil {
		l.bundles, l.groups = make(map[string]*bundle), make(map[string][]*bundle)
	}
	l.bundles[b.id.suffix()] = b
}

// Commit opens a bundle that was prepared for the work of its group. It does nothing for a bundle that is open or unknown.
func (l *Ledger) Commit(id BundleID) {
	b := l.bundles[id.suffix()]
	if b == nil || b.inner != nil {
		return
	}
	l.open(b, b.hold.ledgerOf())
	l.changes++
}

// open gives a bundle its ledger.
func (l *Ledger) open(b *bundle, inner *Ledger) {
	l.add(b)
	b.inner, inner.in = inner, b
	group := b.id.group()
	at, _ := slices.BinarySearchFunc(l.groups[group], b.id.Index, func(o *bundle, index int) int { return o.id.Index - index })
	l.groups[group] = slices.Insert(l.groups[group], at, b)
}

// Drop closes a bundle. What work has taken of it stays taken until it is released, and then all of the bundle is free.
func (l *Ledger) Drop(id BundleID) {
	b := l.bundles[id.suffix()]
	if b == nil {
		return
	}
	b.dropped = true
	delete(l.bundles, id.suffix())
	group := id.group()
	l.groups[group] = slices.DeleteFunc(l.groups[group], func(o *bundle) bool { return o == b })
	if len(l.groups[group]) == 0 {
		delete(l.groups, group)
	}
	l.changes++
	b.endIfUnused()
}

// endIfUnused gives back what a bundle has that is closed and of which nothing is held any more.
func (b *bundle) endIfUnused() {
	if b.dropped && (b.inner == nil || len(b.inner.held) == 0) {
		b.outer.Release(b.hold)
	}
}

// BundleState is a bundle that a ledger has.
type BundleState struct {
	ID   BundleID
	Need Set
	Open bool // Commit was called
}

// Bundles lists the bundles that were not dropped, in the order of their names.
func (l *Ledger) Bundles() []BundleState {
	var list []BundleState
	for _, suffix := range sortedNames(l.bundles) {
		b := l.bundles[suffix]
		list = append(list, BundleState{b.id, b.hold.need.Clone(), b.inner != nil})
	}
	return list
}

// ledgerOf makes a ledger of what an allocation holds.
func (a *Allocation) ledgerOf() *Ledger {
	l := &Ledger{totals: a.need.Clone(), devices: make(map[string][]device, len(a.shares)), held: make(map[*Allocation]struct{})}
	delete(l.totals, GPUMemory)
	for name, shares := range a.shares {
		for _, s := range shares {
			d := a.ledger.devices[name][s.index]
			d.free, d.most = s.grains, s.grains
			l.devices[name] = append(l.devices[name], d)
		}
	}
	l.totals[Marker] = markerTotal
	l.free = l.totals.Clone()
	l.sumDevices()
	return l
}

// sumDevices notes what the devices of a bundle's ledger are in all, and what of them is free.
func (l *Ledger) sumDevices() {
	delete(l.totals, GPUMemory)
	for name, devices := range l.devices {
		var all, free Amount
		for i := range devices {
			d := &devices[i]
			all += d.most / Amount(d.bytes)
			free += d.part()
			if d.known && name == GPU {
				l.totals[GPUMemory] += d.most
			}
		}
		l.totals[name], l.free[name] = all, free
	}
	l.count()
}

// within returns the ledger of the bundle of which a need asks and in which a test of it holds, with the need by the names of that ledger. It
// reports whether the need asks something of a bundle at all; if it does and no bundle passes the test, the ledger is nil.
func (l *Ledger) within(need Set, test func(*Ledger, Set) bool) (inner *Ledger, inside Set, asks bool) {
	if len(l.bundles) == 0 {
		return nil, nil, false // no resource has such a name then
	}
	suffix := suffixOf(need)
	if suffix == "" {
		return nil, nil, false
	}
	inside = strip(need, suffix)
	if b := l.bundles[suffix]; b != nil && b.inner != nil && test(b.inner, inside) {
		return b.inner, inside, true
	}
	for _, b := range l.groups[suffix] {
		if test(b.inner, inside) {
			return b.inner, inside, true
		}
	}
	return nil, inside, true
}

// addBundles adds what open bundles have, by the names that work asks for. The sum for a group is what all of its bundles have.
func (l *Ledger) addBundles(to Set, of func(*Ledger) Set) Set {
	for suffix, b := range l.bundles {
		if b.inner == nil {
			continue
		}
		group := b.id.group()
		for name, a := range of(b.inner) {
			to[name+suffix] += a
			to[name+group] += a
		}
	}
	return to
}

// FreeOf returns what Free has of one name. It takes no longer when there are many bundles.
func (l *Ledger) FreeOf(name string) Amount {
	free := l.free[name]
	at := strings.LastIndex(name, inGroup)
	if at < 0 {
		return free
	}
	here, suffix := name[:at], name[at:]
	if b := l.bundles[suffix]; b != nil && b.inner != nil {
		free += b.inner.free[here]
	}
	for _, b := range l.groups[suffix] {
		free += b.inner.free[here]
	}
	return free
}

// bundleOf returns the bundle of the ledger of which an allocation was made, nil if it was made of the ledger itself.
func (l *Ledger) bundleOf(a *Allocation) *bundle {
	if a == nil || a.ledger == nil || a.ledger.in == nil || a.ledger.in.outer != l {
		return nil
	}
	return a.ledger.in
}

// Bundle returns the bundle of which the allocation was made; false: it was made of the node itself.
func (a *Allocation) Bundle() (BundleID, bool) {
	if a.ledger.in == nil {
		return BundleID{}, false
	}
	return a.ledger.in.id, true
}

// Dropped reports whether the allocation was made of a bundle that was dropped since. It reports false for nil.
func (a *Allocation) Dropped() bool {
	return a != nil && a.ledger.in != nil && a.ledger.in.dropped
}

// HasOpen reports whether the ledger has the bundle, or any bundle of a group, and it is open.
func (l *Ledger) HasOpen(id BundleID) bool {
	if id.Index < 0 {
		return len(l.groups[id.group()]) > 0
	}
	b := l.bundles[id.suffix()]
	return b != nil && b.inner != nil
}

// HasBundle reports whether the ledger has a bundle that was not dropped, and whether it is open.
func (l *Ledger) HasBundle(id BundleID) (has, open bool) {
	b := l.bundles[id.suffix()]
	return b != nil, b != nil && b.inner != nil
}
