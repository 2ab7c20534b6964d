package link

import "slices"

// pass gives what arrives on a stream to a function, on the goroutine that has received it, while somebody waits in Read. So nobody else has to be
// woken. It belongs to s.mu.
type pass struct {
	to      func([]byte) int // nil: there is none
	waiting bool             // a Read waits
	queued  bool             // the stream is in session.passes
	busy    bool             // to is called
	rest    []byte           // what to has not taken; Read returns it
}

// PassTo lets a function take bytes that arrive while a Read waits. It is called without locks, must not wait, and returns how many bytes it has
// taken. Read returns the others, and then what comes behind them.
func (x *Stream) PassTo(take func([]byte) int) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.pass.to = take
}

// passable reports whether what has arrived is to be passed on, and the stream is not yet noted for that.
func (x *Stream) passable() bool {
	p := &x.pass
	if p.to == nil || !p.waiting || p.queued || p.busy {
		return false
	}
	p.queued = true
	return true
}

// mayRead is how many bytes Read may take out of the ring now.
func (x *Stream) mayRead(most int) int {
	if x.pass.busy {
		return 0
	}
	return min(most, x.readable())
}

func (p *pass) take(b []byte) int {
	n := copy(b, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) == 0 {
		p.rest = nil
	}
	return n
}

// passOn passes on what has arrived. It is called without s.mu.
func (s *session) passOn() {
	x := s.nextPass()
	if x == nil {
		return
	}
	kept := batches.Get().(*[]byte)
	defer batches.Put(kept)
	for ; x != nil; x = s.nextPass() {
		for n := x.passes((*kept)[:cap(*kept)], 0, 0); n > 0; {
			n = x.passes((*kept)[:cap(*kept)], n, x.pass.to((*kept)[:n]))
		}
	}
}

func (s *session) nextPass() *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.passes) == 0 {
		return nil
	}
	x := s.passes[0]
	s.passes = slices.Delete(s.passes, 0, 1)
	return x
}

// passes notes how many of n bytes were taken, and fills b with those to be passed on next. It returns how many these are; 0: Read goes on.
func (x *Stream) passes(b []byte, n, taken int) int {
	s, p := x.s, &x.pass
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 && p.busy { // the reader of another connection passes on, and will see what has come
		p.queued = false
		return 0
	}
	p.busy, p.queued = false, false
	if taken < n {
		p.rest = slices.Clone(b[taken:n])
	}
	if !p.waiting || x.closed || len(p.rest) > 0 || x.mayRead(len(b)) == 0 {
		if len(p.rest) > 0 || x.in.n > 0 || x.ended != nil {
			x.readers.Signal()
		}
		return 0
	}
	n = x.mayRead(len(b))
	x.takes(b[:n])
	p.busy = true
	return n
}
