package objects

// evict lets an idle object that has a copy on disk leave the arena.
func (t *Table) evict(o *object) {
	unlist(o)
	t.vacate(o)
	o.evicted = true
	t.onDisk++
	t.onDiskBytes += o.size
}

// unevict undoes evict: the object is in memory again, or nowhere.
func (t *Table) unevict(o *object) {
	if o.evicted {
		o.evicted = false
		t.onDisk--
		t.onDiskBytes -= o.size
	}
}

// dropCopy lets the copy on disk go.
func (t *Table) dropCopy(o *object) {
	if o.disk == nil {
		return
	}
	t.unevict(o)
	o.disk.Release()
	o.disk = nil
}

// discard gives up the object's room in memory and on disk.
func (t *Table) discard(o *object) {
	unlist(o)
	if o.inArena {
		t.changed = true
	}
	t.vacate(o)
	t.dropCopy(o)
}

// release lets the object go when nothing holds it and nobody needs it. An object
// that somebody needs and nobody looks at becomes idle.
func (t *Table) release(o *object) {
	switch {
	case o.pins > 0 || o.creator != nil || o.moving != still:
	case o.freed:
		t.detach(o)
		t.discard(o)
	case o.sealed:
		t.setIdle(o)
	}
}

// setIdle notes that nobody looks at the object now. An object in a file stays
// there.
func (t *Table) setIdle(o *object) {
	if o.copy {
		o.Place = Place{} // the next reader may find room in memory
	}
	if !o.inArena || o.list != nil || t.effects == nil {
		return
	}
	switch {
	case o.replica:
		t.replicas.push(o)
	case o.disk != nil:
		t.clean.push(o)
	default:
		t.dirty.push(o)
	}
	if t.waiting > 0 {
		t.changed = true
	}
}

// dropPin ends one pin of the object.
func (t *Table) dropPin(o *object) {
	if o.pins--; o.pins == 0 {
		t.pinned--
		t.release(o)
	}
}

// loseCopy ends an object whose only copy cannot be read.
func (t *Table) loseCopy(o *object, err error) {
	t.tellLost(o)
	ws := o.takeWaiters()
	t.detach(o)
	t.dropCopy(o)
	failLost(ws, o.id, err.Error())
}

// abandon ends an object that its creator will not seal.
func (t *Table) abandon(o *object, why string) {
	t.tellLost(o)
	o.creator = nil
	ws := o.takeWaiters()
	t.detach(o)
	t.discard(o)
	failLost(ws, o.id, why)
}

// tellLost says that the object goes although nobody has freed it.
func (t *Table) tellLost(o *object) {
	if t.notify != nil && t.table[o.id] == o {
		t.notify.Lost(o.id)
	}
}
