package objects

// lru is a list of idle objects in the order in which they were last used.
type lru struct {
	oldest, newest *object
	bytes          uint64
}

// push adds an object that was used just now.
func (l *lru) push(o *object) {
	o.list, o.older, o.newer = l, l.newest, nil
	if l.newest != nil {
		l.newest.newer = o
	} else {
		l.oldest = o
	}
	l.newest = o
	l.bytes += o.size
}

// pushOldest adds an object that is to leave the arena before all others.
func (l *lru) pushOldest(o *object) {
	o.list, o.older, o.newer = l, nil, l.oldest
	if l.oldest != nil {
		l.oldest.older = o
	} else {
		l.newest = o
	}
	l.oldest = o
	l.bytes += o.size
}

// unlist takes the object out of the list that it is in, if it is in one.
func unlist(o *object) {
	l := o.list
	if l == nil {
		return
	}
	if o.older != nil {
		o.older.newer = o.newer
	} else {
		l.oldest = o.newer
	}
	if o.newer != nil {
		o.newer.older = o.older
	} else {
		l.newest = o.older
	}
	l.bytes -= o.size
	o.list, o.older, o.newer = nil, nil, nil
}
