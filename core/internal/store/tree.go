package store

// order is what a tree sorts its blocks by.
type order int

const (
	bySize order = iota
	byWarm
)

// tree is a treap of free blocks: by length, then the most recently freed,
// then the lowest offset. Priorities are a hash of the offset, so the shape
// depends on the content alone.
type tree struct {
	root  *block
	which order
}

type links struct {
	left, right *block
	priority    uint64
}

// length is what the tree's blocks are searched by.
func (t *tree) length(b *block) uint64 {
	if t.which == byWarm {
		return b.warm
	}
	return b.size
}

func (t *tree) less(a, b *block) bool {
	if la, lb := t.length(a), t.length(b); la != lb {
		return la < lb
	}
	if a.tick != b.tick {
		return a.tick > b.tick
	}
	return a.off < b.off
}

func (t *tree) insert(b *block) {
	b.links[t.which] = links{priority: scramble(b.off)}
	at := &t.root
	for *at != nil && (*at).links[t.which].priority >= b.links[t.which].priority {
		l := &(*at).links[t.which]
		if t.less(b, *at) {
			at = &l.left
		} else {
			at = &l.right
		}
	}
	l := &b.links[t.which]
	l.left, l.right = t.split(*at, b)
	*at = b
}

// split parts a subtree into what comes before b and what comes after.
func (t *tree) split(n, b *block) (before, after *block) {
	into := [2]**block{&before, &after}
	for n != nil {
		l := &n.links[t.which]
		if t.less(n, b) {
			*into[0] = n
			into[0] = &l.right
			n = l.right
		} else {
			*into[1] = n
			into[1] = &l.left
			n = l.left
		}
	}
	*into[0], *into[1] = nil, nil
	return before, after
}

// remove takes out b, which is in the tree and unchanged since insert.
func (t *tree) remove(b *block) {
	at := &t.root
	for *at != b {
		l := &(*at).links[t.which]
		if t.less(b, *at) {
			at = &l.left
		} else {
			at = &l.right
		}
	}
	left, right := b.links[t.which].left, b.links[t.which].right
	for left != nil && right != nil {
		if left.links[t.which].priority >= right.links[t.which].priority {
			*at = left
			at = &left.links[t.which].right
			left = *at
		} else {
			*at = right
			at = &right.links[t.which].left
			right = *at
		}
	}
	if left == nil {
		left = right
	}
	*at = left
	b.links[t.which] = links{}
}

// atLeast returns the first block that is long enough, nil if none is.
func (t *tree) atLeast(length uint64) (found *block) {
	for n := t.root; n != nil; {
		if t.length(n) >= length {
			found, n = n, n.links[t.which].left
		} else {
			n = n.links[t.which].right
		}
	}
	return found
}

// descend visits all blocks, longest first, while visit returns true.
func (t *tree) descend(n *block, visit func(*block) bool) bool {
	if n == nil {
		return true
	}
	l := &n.links[t.which]
	return t.descend(l.right, visit) && visit(n) && t.descend(l.left, visit)
}

// max returns the longest block, nil when there is none.
func (t *tree) max() *block {
	n := t.root
	for n != nil && n.links[t.which].right != nil {
		n = n.links[t.which].right
	}
	return n
}

// scramble is the finaliser of splitmix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
