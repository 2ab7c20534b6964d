package pulls

import "slices"

// admit lets a pull begin if it fits beside those that are under way. Else the pull waits, those with a lower Priority first.
func (p *Pulls) admit(x *pull) bool {
	most := p.o.Bytes / arenaShare
	if p.admitted > 0 && (p.admitted >= atATime || p.underway > most || x.size > most-p.underway) {
		if !slices.Contains(p.queue, x) {
			p.queue = append(p.queue, x)
		}
		return false
	}
	x.admitted, x.reserved = true, x.size
	p.admitted++
	p.underway += x.reserved
	return true
}

// release gives up what a pull was admitted for, or its place in the queue.
func (p *Pulls) release(x *pull) {
	p.queue = slices.DeleteFunc(p.queue, func(y *pull) bool { return x == y })
	if x.admitted {
		x.admitted = false
		p.admitted--
		p.underway -= x.reserved
	}
	p.admitNext()
}

// admitNext lets pulls that wait begin, as many as there is room for. Each asks anew where its object is.
func (p *Pulls) admitNext() {
	for len(p.queue) > 0 {
		next := p.queue[0]
		for _, x := range p.queue {
			if x.prio < next.prio {
				next = x
			}
		}
		if !p.admit(next) {
			return
		}
		p.queue = slices.DeleteFunc(p.queue, func(x *pull) bool { return x == next })
		next.ask()
	}
}
