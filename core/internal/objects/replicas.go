package objects

import "github.com/eagleray/eagleray/core/ids"

// A replica is an object that another node has, too. It is not written to disk when room is needed. The node of its
// owner is asked whether it may go, because somebody has to keep the object. If it may not go, it is an object like the others
// from then on.

// mostAsked is how many replicas one question names.
const mostAsked = 1000

// SealReplica is Seal for an object that was read from another node. Its creator has it pinned from then on.
func (t *Table) SealReplica(c Holder, id ids.Object) error {
	if o := t.table[id]; o != nil && o.creator == c {
		o.replica = true
	}
	return t.SealPinned(c, id)
}

// Promote says that the object counts as the only copy from now on.
func (t *Table) Promote(id ids.Object) {
	o := t.table[id]
	if o == nil || !o.replica {
		return
	}
	o.replica = false
	if o.list != nil {
		unlist(o)
		t.setIdle(o)
	}
}

// dropReplicas asks whether idle replicas may go, the least recently used first, until they are need bytes. It returns how
// many bytes they are.
func (t *Table) dropReplicas(need uint64) (bytes uint64) {
	for need > bytes && t.replicas.oldest != nil {
		b := &batch{}
		for o := t.replicas.oldest; o != nil && bytes+b.bytes < need && len(b.objects) < mostAsked; o = t.replicas.oldest {
			b.ask(o)
		}
		bytes += b.bytes
		t.askToDrop(b)
	}
	return bytes
}

// ask puts an idle replica into the batch.
func (b *batch) ask(o *object) {
	b.add(o)
	o.moving = asking
}

// askToDrop asks about a batch of replicas.
func (t *Table) askToDrop(b *batch) {
	b.since = t.effects.now()
	if t.questions == nil {
		t.questions = make(map[*batch]struct{})
	}
	t.questions[b] = struct{}{}
	list := make([]ids.Object, len(b.objects))
	for i, o := range b.objects {
		list[i] = o.id
	}
	t.notify.MayDrop(list, func(may []bool) []ids.Object { return t.answerDrop(b, may) })
}

// answerDrop answers Notify.MayDrop. It returns those of the replicas that may go and stay all the same, because processes have
// pinned them meanwhile.
func (t *Table) answerDrop(b *batch, may []bool) (kept []ids.Object) {
	delete(t.questions, b)
	for i, o := range b.objects {
		o.moving = still
		switch {
		case o.freed:
			t.release(o)
		case !may[i]:
			t.spoilWindow(o)
			o.replica = false
			t.release(o)
		case o.pins > 0:
			t.spoilWindow(o)
			kept = append(kept, o.id)
		default:
			t.detach(o)
			t.discard(o)
		}
	}
	t.changed = true
	t.pump()
	return kept
}

// asksUnderway counts the questions about replicas that do not hang.
func (t *Table) asksUnderway() (n int) {
	for b := range t.questions {
		if !t.hangs(b) {
			n++
		}
	}
	return n
}

// hangs reports whether a batch was ordered long ago.
func (t *Table) hangs(b *batch) bool { return t.effects.now().Sub(b.since) >= hangsAfter }
