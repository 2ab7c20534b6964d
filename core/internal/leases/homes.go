package leases

import (
	"cmp"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The leases of a class may be of several nodes. This process always asks its own node's daemon.
// When that has no room it may offer leases of another node, and this process asks the daemon of
// that node for them.
//
// An offer counts as grants, in the daemon that makes it and here. So the rule about wants that
// cross grants on their way (see seen) holds for offers, too. Here an offered lease counts as one
// that is being opened, until the other node grants it or refuses it, or is lost, or until nothing
// waits for it any more. So the class asks its own daemon for no lease that another node gives.
//
// Each node counts its own answers: the leases that it has granted and those that it has refused.

// home is another node that was asked for leases of a class.
type home struct {
	node    uint32
	answers uint64 // how many leases of the class the node has granted or refused
	want    int    // how many more it was asked for; Class.opening counts these, too
	due     int    // for how many of them it may use an alternative
}

// NodeOf returns the number of the node that has granted a lease.
func NodeOf(lease uint64) uint32 { return uint32(lease >> 32) }

// at returns what a class has asked another node for, nil for nothing.
func (k *Class[T, C]) at(node uint32) *home {
	for _, h := range k.homes {
		if h.node == node {
			return h
		}
	}
	return nil
}

// WantAt returns how many more leases another node was asked for.
func (k *Class[T, C]) WantAt(node uint32) int {
	if h := k.at(node); h != nil {
		return h.want
	}
	return 0
}

// EachHome calls f for each other node that was asked for leases of the class, with the count of its answers.
func (k *Class[T, C]) EachHome(f func(node uint32, answers uint64)) {
	for _, h := range k.homes {
		f(h.node, h.answers)
	}
}

// RestoreHome notes that another node, which knows the class, has answered so often. It is asked for nothing now. It
// returns false if that is noted already.
func (k *Class[T, C]) RestoreHome(node uint32, answers uint64) bool {
	if k.at(node) != nil {
		return false
	}
	k.homes = append(k.homes, &home{node: node, answers: answers})
	return true
}

// homeAt is at for a class that has tasks in its queue. The node's daemon hears what the class is
// before anything else of it.
func (p *Pool[T, C]) homeAt(k *Class[T, C], node uint32) *home {
	h := k.at(node)
	if h == nil {
		h = &home{node: node}
		k.homes = append(k.homes, h)
		p.host.PushTo(node, wire.TClassDefine, k.definition(p.host.Template(k.Queue.First())))
	}
	return h
}

// definition is what a daemon is told of the class. All templates of a class ask for the same.
func (k *Class[T, C]) definition(t *templates.Template[Class[T, C]]) wire.ClassDefine {
	return wire.ClassDefine{ClassID: k.ID, Resources: t.Resources, EnvKey: t.EnvKey, Name: t.Name, Strategy: t.Strategy, Enforce: t.Enforce, Fallback: t.Alternatives(), AfterMs: t.AfterMs}
}

// tell tells another node how many more leases are wanted of it.
func (p *Pool[T, C]) tell(k *Class[T, C], h *home) { p.tellOffer(k, h, new(wire.LeaseOffer)) }

// tellOffer is tell with an offer that the want takes.
func (p *Pool[T, C]) tellOffer(k *Class[T, C], h *home, o *wire.LeaseOffer) {
	p.host.PushTo(h.node, wire.TLeaseWant, wire.LeaseWant{ClassID: k.ID, Want: h.want, Seen: h.answers + 1, Due: h.due, Ticket: o.Ticket, Recall: o.Recall, Lasting: o.Lasting})
}

// lower notes that so many leases are not wanted of a node any more.
func (k *Class[T, C]) lower(h *home, n int) {
	n = min(n, h.want)
	h.want -= n
	h.due = min(h.due, h.want)
	k.opening -= n
}

// Offered takes an offer of the own daemon, and asks the other node. It returns the class, nil if the
// offer is not used because nothing waits any more.
func (p *Pool[T, C]) Offered(o *wire.LeaseOffer) *Class[T, C] {
	k := p.Classes[o.ClassID]
	if k != nil {
		k.granted += uint64(o.N)
		k.Want, k.due = max(0, k.Want-o.N), max(0, k.due-o.N)
	}
	if k == nil || k.Queue.Len() == 0 {
		p.host.Push(wire.TLeaseRefused, wire.LeaseRefused{ClassID: o.ClassID, N: o.N, Ticket: o.Ticket})
		return nil
	}
	k.Changed = time.Now()
	h := p.homeAt(k, o.Node)
	h.want += o.N
	if o.Choice > 0 {
		h.due += o.N
	}
	k.opening += o.N
	p.tellOffer(k, h, o)
	return k
}

// Refused notes that another node grants less than it was asked for. It returns the class, nil if it has gone.
func (p *Pool[T, C]) Refused(node uint32, r *wire.LeaseRefused) *Class[T, C] {
	k := p.Classes[r.ClassID]
	if k == nil {
		return nil
	}
	h := k.at(node)
	if h == nil {
		return nil
	}
	h.answers += uint64(r.N)
	k.lower(h, r.N)
	return k
}

// withdraw asks other nodes for less, if much of what they were asked for is of no use any more: the
// queue of the class could use so many leases, those that are being opened included.
func (p *Pool[T, C]) withdraw(k *Class[T, C], all int) {
	coming := 0
	for _, h := range k.homes {
		coming += h.want
	}
	spare := min(coming, k.opening-all)
	if spare <= 0 || 2*spare < coming {
		return
	}
	for _, h := range slices.Backward(k.homes) { // the node that was asked last has probably not begun to start workers
		if n := min(spare, h.want); n > 0 {
			spare -= n
			k.lower(h, n)
			p.tell(k, h)
		}
	}
}

// Unask asks no other node for leases of the class any more.
func (p *Pool[T, C]) Unask(k *Class[T, C]) {
	for _, h := range k.homes {
		p.UnaskAt(k, h.node)
	}
}

// UnaskAt asks another node for no leases of the class any more.
func (p *Pool[T, C]) UnaskAt(k *Class[T, C], node uint32) {
	if h := k.at(node); h != nil && h.want > 0 {
		k.lower(h, h.want)
		p.tell(k, h)
	}
}

// LoseHome forgets another node, which can be asked for nothing any more. It returns the classes that
// had asked it and the leases that it had granted, each in the order of their numbers.
func (p *Pool[T, C]) LoseHome(node uint32) (classes []*Class[T, C], lost []*Lease[T, C]) {
	for _, k := range p.Classes {
		if h := k.at(node); h != nil {
			k.lower(h, h.want)
			k.homes = slices.DeleteFunc(k.homes, func(x *home) bool { return x == h })
			classes = append(classes, k)
		}
	}
	for _, l := range p.Leases {
		if l.Node == node {
			lost = append(lost, l)
		}
	}
	slices.SortFunc(classes, func(a, b *Class[T, C]) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(lost, func(a, b *Lease[T, C]) int { return cmp.Compare(a.ID, b.ID) })
	return classes, lost
}
