package resume

// list is a queue of streams. which is the index of its fields in a stream.
type list struct {
	first, last *stream
	which       int
}

func (l *list) push(x *stream) {
	if x.in[l.which] {
		return
	}
	x.in[l.which] = true
	if l.first == nil {
		l.first = x
	} else {
		l.last.next[l.which] = x
	}
	l.last = x
}

func (l *list) pop() *stream {
	x := l.first
	if x == nil {
		return nil
	}
	l.first = x.next[l.which]
	x.next[l.which], x.in[l.which] = nil, false
	if l.first == nil {
		l.last = nil
	}
	return x
}
