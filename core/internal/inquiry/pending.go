package inquiry

import "sync"

// Pending has the questions of one process to the head that wait for something to happen. They are cancelled when the process is gone. The zero value is
// ready. Its mutex is held for moments only, and never while a function of others is called.
type Pending struct {
	mu      sync.Mutex
	last    uint64
	cancels map[uint64]func()
	ended   bool
}

// Begin asks a question. Ask is given a function that must be called when the question is answered, perhaps before ask returns, and returns one that cancels
// the question.
func (p *Pending) Begin(ask func(answered func()) (cancel func())) {
	n := p.next()
	over := false // p.mu guards it
	cancel := ask(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		over = true
		delete(p.cancels, n)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case over:
	case p.ended:
		go cancel()
	default:
		if p.cancels == nil {
			p.cancels = make(map[uint64]func())
		}
		p.cancels[n] = cancel
	}
}

func (p *Pending) next() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return p.last
}

// End cancels all questions, and those that begin later.
func (p *Pending) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, cancel := range p.cancels {
		go cancel()
	}
	p.cancels = nil
}

// Len returns how many questions wait.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cancels)
}
