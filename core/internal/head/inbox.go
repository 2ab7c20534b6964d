package head

import "sync"

// inbox is an unbounded queue, so a caller that reports something never waits.
type inbox struct {
	mu     sync.Mutex
	items  []func()
	closed bool
	more   chan struct{} // buffered by one
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}, 1)} }

// put appends an item; after close it reports false.
func (b *inbox) put(item func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.items = append(b.items, item)
	b.signal()
	return true
}

// take waits for items; none after close.
func (b *inbox) take() []func() {
	for {
		items, closed := b.takeAll()
		if closed {
			return nil
		}
		if len(items) > 0 {
			return items
		}
		<-b.more
	}
}

// takeAll empties the queue.
func (b *inbox) takeAll() (items []func(), closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, nil
	return items, b.closed
}

// close drops what is in the queue.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.signal()
}

func (b *inbox) signal() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}
