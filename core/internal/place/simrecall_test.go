package place

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// asks are the offers of leases to be recalled that a process has got.
type asks struct {
	at time.Duration // the latest ones
	n  int           // so often since the process got another offer
}

// recalls checks an offer of leases that are to be recalled, and sends it. Nothing is debited for it, and the node may refuse.
func (w *world) recalls(a Offer, home, n *played) {
	c := home.classes[a.To]
	if a.Choice != 0 || a.Node == a.To.Node {
		panic(fmt.Sprintf("%s: the first choice of another node is recalled only", a))
	}
	if _, could := n.ledger.CanEver(c.needs[0]); !could {
		panic(fmt.Sprintf("%s: the node has never so much", a))
	}
	k := who{c.job, a.To.Node, a.To.Client}
	x := w.asks[k]
	if x == nil {
		x = &asks{at: -time.Hour}
		w.asks[k] = x
	}
	if x.at != w.now {
		if x.n > 0 && w.now < x.at+min(recallPause<<(x.n-1), recallPauseMost) {
			panic(fmt.Sprintf("%s at %v: the process was offered such leases %d times, the last time at %v", a, w.now, x.n, x.at))
		}
		x.at, x.n = w.now, x.n+1
	}
	if at, had := w.servedAt[a.To]; had && w.now < at+RecallAfter {
		panic(fmt.Sprintf("%s at %v: the class was offered leases at %v", a, w.now, at))
	}
	w.recalled++
	w.net.Send(channel{0, home.id, home.life}, underWay{a, c.needs[0]})
}

// offeredTo notes that a process gets an offer of leases that are free.
func (w *world) offeredTo(job ids.Job, k Key) {
	if x := w.asks[who{job, k.Node, k.Client}]; x != nil {
		x.n = 0
	}
	w.servedAt[k] = w.now
}
