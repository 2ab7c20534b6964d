package wire

// Unsent returns how many bytes wait in p to be written. A sender of much that nobody has
// asked for, such as output of workers, looks at this before it sends more.
func (p *Peer) Unsent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.out)
}
