package refs

// index finds the objects that this process owns by their counts.
//
// Counts are given out one after another, and with large gaps where generators
// have set some aside. Objects of neighbouring counts share a leaf, leaves share
// a branch, and only branches are in a map: it has one entry for thousands of
// objects, so it never has to grow by much at once, and finding one object after
// another costs two loads each. A leaf or branch that holds nothing is freed. Only
// the leaf of the newest count stays, so that a program which makes one object at
// a time allocates no leaf.
type index struct {
	branches map[uint64]*branch
	n        int
	at       uint64  // the place of the branch that was looked up last,
	last     *branch // and that branch, nil when there is none
	newest   uint64  // the count of the newest object
}

const (
	leafBits   = 6
	branchBits = 6
	fan        = 1 << leafBits
	leafMask   = fan - 1
)

type leaf struct {
	n    int
	slot [fan]*Object
}

type branch struct {
	n    int
	leaf [1 << branchBits]*leaf
}

func newIndex() index { return index{branches: map[uint64]*branch{}} }

func (x *index) branch(count uint64) *branch {
	at := count >> (leafBits + branchBits)
	if x.last != nil && x.at == at {
		return x.last
	}
	b := x.branches[at]
	if b != nil {
		x.at, x.last = at, b
	}
	return b
}

// find returns the object with a count, nil when there is none.
func (x *index) find(count uint64) *Object {
	b := x.branch(count)
	if b == nil {
		return nil
	}
	l := b.leaf[count>>leafBits&(1<<branchBits-1)]
	if l == nil {
		return nil
	}
	return l.slot[count&leafMask]
}

// set gives a count its object.
func (x *index) set(count uint64, o *Object) {
	b := x.branch(count)
	if b == nil {
		b = new(branch)
		at := count >> (leafBits + branchBits)
		x.branches[at] = b
		x.at, x.last = at, b
	}
	l := &b.leaf[count>>leafBits&(1<<branchBits-1)]
	if *l == nil {
		b.n++ // before fresh, which may take the branch's only other leaf
		*l = x.fresh(count)
	}
	s := &(*l).slot[count&leafMask]
	if *s == nil {
		(*l).n++
		x.n++
	}
	*s = o
}

// fresh returns an empty leaf for a count that has none. It takes the leaf of the
// newest count so far, if no object is left in it.
func (x *index) fresh(count uint64) *leaf {
	old := x.newest
	if count <= old {
		return new(leaf)
	}
	x.newest = count
	b := x.branches[old>>(leafBits+branchBits)]
	if b == nil {
		return new(leaf)
	}
	l := b.leaf[old>>leafBits&(1<<branchBits-1)]
	if l == nil || l.n > 0 {
		return new(leaf)
	}
	x.prune(old, b)
	return l
}

// remove takes the object with a count out.
func (x *index) remove(count uint64) {
	b := x.branch(count)
	if b == nil {
		return
	}
	l := b.leaf[count>>leafBits&(1<<branchBits-1)]
	if l == nil || l.slot[count&leafMask] == nil {
		return
	}
	l.slot[count&leafMask] = nil
	l.n--
	x.n--
	if l.n == 0 && count>>leafBits != x.newest>>leafBits {
		x.prune(count, b)
	}
}

// prune frees an empty leaf, and its branch when that was the branch's last leaf.
func (x *index) prune(count uint64, b *branch) {
	b.leaf[count>>leafBits&(1<<branchBits-1)] = nil
	if b.n--; b.n > 0 {
		return
	}
	at := count >> (leafBits + branchBits)
	delete(x.branches, at)
	if x.last == b {
		x.last = nil
	}
}

// each calls f with every object until f returns false. It passes over objects that f has removed.
func (x *index) each(f func(*Object) bool) bool {
	for _, b := range x.branches {
		for i := range b.leaf {
			l := b.leaf[i]
			if l == nil {
				continue
			}
			for j := range l.slot {
				if o := l.slot[j]; o != nil && !f(o) {
					return false
				}
			}
		}
	}
	return true
}
