package objects

// chooseWindow chooses a range for a large request and begins to clear it. It
// chooses the range for which the fewest bytes have to be written, among those in
// which all objects are idle. It reports whether there is such a range.
func (t *Table) chooseWindow(r *request) bool {
	if t.effects == nil || t.memoryOnly {
		return false
	}
	mayWrite := !t.effects.now().Before(t.retryAt)
	pieces, ok := t.space.Window(r.size, func(off, _ uint64) (uint64, bool) {
		o := t.at[off]
		switch {
		case o == nil || o.window != nil || o.pins > 0 || !o.sealed:
			return 0, false
		case o.replica, o.disk != nil:
			return 1, true // nothing has to be written, but the object may be wanted again
		case o.moving == spilling:
			return o.size / 2, true
		}
		return o.size, mayWrite
	})
	if !ok {
		return false
	}
	k := &window{request: r, start: pieces[0].Off}
	r.window = k
	for _, p := range pieces {
		if p.Free {
			k.parts = append(k.parts, p.Off)
			continue
		}
		o := t.at[p.Off]
		o.window = k
		k.objects = append(k.objects, o)
		k.missing++
	}
	t.clearWindow(k)
	return true
}

// clearWindow lets the objects in a window leave the arena.
func (t *Table) clearWindow(k *window) {
	b, q := &batch{}, &batch{}
	for _, o := range k.objects {
		switch {
		case o.moving == spilling, o.moving == asking: // it leaves when that has ended
		case o.replica:
			if len(q.objects) == mostAsked {
				t.askToDrop(q)
				q = &batch{}
			}
			q.ask(o)
		case o.disk != nil:
			t.evict(o)
		default:
			if b.bytes > 0 && b.bytes+o.size > mostBatched {
				t.send(b)
				b = &batch{}
			}
			b.add(o)
		}
	}
	if b.bytes > 0 {
		t.send(b)
	}
	if len(q.objects) > 0 {
		t.askToDrop(q)
	}
}

// takeWindow makes one range of a window that is clear, and returns its offset.
func (t *Table) takeWindow(r *request) uint64 {
	k := r.window
	r.window = nil
	if err := t.space.Merge(k.start, r.size); err != nil {
		panic("objects: the table and the arena disagree: " + err.Error())
	}
	return k.start
}

// spoilWindow gives up the window in which an object lies that cannot leave the
// arena after all.
func (t *Table) spoilWindow(o *object) {
	if o.window != nil {
		o.window.request.cleared++
		t.dropWindow(o.window.request)
	}
}

// dropHangingWindows gives up windows that wait for a disk or another node that hangs, because
// what is clear in them may be enough for others. It reports whether something hangs.
func (t *Table) dropHangingWindows() (hanging bool) {
	if t.effects == nil {
		return false
	}
	for b := range t.batches {
		hanging = t.dropIfHanging(b) || hanging
	}
	for b := range t.questions {
		hanging = t.dropIfHanging(b) || hanging
	}
	return hanging
}

// dropIfHanging gives up the windows in which a batch lies that hangs. It reports whether it does.
func (t *Table) dropIfHanging(b *batch) bool {
	if !t.hangs(b) {
		return false
	}
	for _, o := range b.objects {
		if o.window != nil {
			t.dropWindow(o.window.request)
		}
	}
	return true
}

// dropWindow gives up the window of a request, if it has one.
func (t *Table) dropWindow(r *request) {
	k := r.window
	if k == nil {
		return
	}
	r.window = nil
	for _, o := range k.objects {
		if o.window == k {
			o.window = nil
		}
	}
	for _, off := range k.parts {
		t.freeRange(off)
	}
	t.changed = true
}
