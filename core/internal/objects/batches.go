package objects

import "time"

// Bounds of writing to disk.
const (
	maxBatches  = 2               // at a time; batches that hang do not count
	mostBatched = 64 << 20        // a larger object has a batch to itself
	hangsAfter  = 3 * time.Second // a batch that is not written by then counts as hanging
	retryAfter  = time.Second     // the pause after the disks failed
	pressureFor = 2 * time.Second // so long after a request had to wait, objects are written ahead
)

// spill writes idle objects to disk, the least recently used first, until need bytes
// are on their way to disk.
func (t *Table) spill(need uint64) {
	for need > 0 && t.dirty.oldest != nil && t.canWrite() {
		b := &batch{}
		for o := t.dirty.oldest; o != nil; {
			next := o.newer
			if b.bytes > 0 && (b.bytes+o.size > mostBatched || b.bytes >= max(need, t.batchBytes)) {
				break
			}
			b.add(o)
			o = next
		}
		need -= min(need, b.bytes)
		t.send(b)
	}
}

// send orders that the batch is written.
func (t *Table) send(b *batch) {
	b.since = t.effects.now()
	if t.batches == nil {
		t.batches = make(map[*batch]struct{})
	}
	t.batches[b] = struct{}{}
	t.effects.write(b)
}

// canWrite reports whether another batch may be begun.
func (t *Table) canWrite() bool {
	return t.effects != nil && !t.memoryOnly && t.underway() < maxBatches && !t.effects.now().Before(t.retryAt)
}

// underway counts the batches that do not hang.
func (t *Table) underway() (n int) {
	now := t.effects.now()
	for b := range t.batches {
		if now.Sub(b.since) < hangsAfter {
			n++
		}
	}
	return n
}

// coming returns how many bytes of the arena everybody will be able to use when
// the batches are written and the questions answered.
func (t *Table) coming() (bytes uint64) {
	for b := range t.batches {
		bytes += b.coming()
	}
	for b := range t.questions {
		if !t.hangs(b) {
			bytes += b.coming()
		}
	}
	return bytes
}

func (b *batch) coming() (bytes uint64) {
	for _, o := range b.objects {
		if o.pins == 0 && o.window == nil {
			bytes += o.size
		}
	}
	return bytes
}

// writeAhead keeps a part of the arena ready to be given up while there is
// pressure, so that a request for room does not wait for the disk.
func (t *Table) writeAhead() {
	if t.effects == nil || t.used <= t.writeAheadFrom || t.pressed.IsZero() || t.effects.now().Sub(t.pressed) > pressureFor {
		return
	}
	over := t.used - t.writeAheadFrom
	over -= min(over, t.clean.bytes+t.replicas.bytes+t.coming())
	t.spill(over)
}
