package leases

import "time"

// The tasks of a class may have a node on which they had better run, because their large arguments lie there. The daemon, which hears of these
// arguments, leaves the choice to the head then. The head offers that node if it has room, and any other one if not. Leases are shared with other
// classes only where that does not undo the choice: a lease of another node serves such a class when no lease has come for a while, and goes back when
// it has nothing to do, so that the next task is asked for anew.

// takes reports whether a lease of another class, which has nothing to do, may serve this one.
func (k *Class[T, C]) takes(l *Lease[T, C]) bool {
	if k.near == 0 || NodeOf(l.ID) == k.near {
		return true
	}
	since := k.Changed
	if since.Before(k.asked) {
		since = k.asked
	}
	return k.Want > 0 && time.Since(since) >= DeepAfter
}

// strays reports whether the lease is of another node than that on which the tasks of its class had better run.
func (l *Lease[T, C]) strays() bool { return l.Class.near != 0 && NodeOf(l.ID) != l.Class.near }
