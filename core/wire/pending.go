package wire

// Unsent returns how many bytes wait in p to be written: a sender of much that
// nobody asked for (logs) looks here before it adds more.
func (p *Peer) Unsent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.out)
}
