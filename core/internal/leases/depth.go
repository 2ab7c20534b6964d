package leases

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/pace"
)

// DeepAfter is how long no lease must have come until it is clear that no more leases will come soon.
const DeepAfter = 20 * time.Millisecond

// share returns how many tasks of the queue are worth one more lease: as many as
// it would have at a time, whatever its choice.
func (k *Class[T, C]) share() int {
	if k.after > 0 {
		return 1
	}
	return pace.Share(k.Paces)
}

// open reports whether the lease may have another task.
func (p *Pool[T, C]) open(l *Lease[T, C]) bool {
	return p.below(l, l.most(l.Class.Paces[l.Choice].Depth))
}

// most returns how many tasks the lease may have at a depth. A worker of another node may have more by as many as it
// runs while an answer of it and the next task are on their way.
func (l *Lease[T, C]) most(depth int) int {
	if l.way == 0 {
		return depth
	}
	return max(1, depth) + l.Class.Paces[l.Choice].Ahead(l.way)
}

// below reports whether the lease takes tasks and has less than so many.
func (p *Pool[T, C]) below(l *Lease[T, C], depth int) bool {
	return l.Channel != nil && !l.Paused && !l.Recall && l.Busy < max(1, depth) && !(l.once() && (l.used || p.early(l)))
}

// deeper returns a lease that may have more tasks than its depth says, nil if none
// may. Then its worker does not wait for its next task, and this process does not
// look at every answer. The queue must be long enough for all leases, and no
// lease must have come lately.
func (p *Pool[T, C]) deeper(k *Class[T, C]) *Lease[T, C] {
	if k.after > 0 || len(k.Leases) == 0 || k.Queue.Len() < 2*len(k.Leases) {
		return nil
	}
	var best *Lease[T, C]
	for _, l := range k.Leases {
		most := k.Paces[l.Choice].Deep
		if most > 0 {
			most = l.most(most)
		}
		if !l.better && p.below(l, most) && most*len(k.Leases) <= k.Queue.Len() && (best == nil || l.before(best)) {
			best = l
		}
	}
	if best != nil && time.Since(k.Changed) < DeepAfter {
		return nil
	}
	return best
}
