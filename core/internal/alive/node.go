package alive

import "time"

// maxSent is how many heartbeats a node remembers that nobody has acknowledged. Older ones would promise nothing any more.
const maxSent = 256

// Node is what a daemon knows of its own standing.
type Node struct {
	t       Timing
	now     time.Duration
	next    time.Duration // when the next heartbeat is due
	number  uint64        // of the last heartbeat
	sent    []sending     // not acknowledged, the oldest first
	counted time.Duration // when the newest heartbeat was sent that was acknowledged
	until   time.Duration // what the acknowledgements promise
	alone   bool
	valid   bool
	dead    bool
	out     []Action
}

type sending struct {
	number uint64
	at     time.Duration
}

// NewNode returns the machine of a daemon that has just been registered.
func NewNode(t Timing, now time.Duration) *Node {
	return &Node{t: t, now: now, next: now, counted: now, until: now}
}

// Advance says what time it is.
func (n *Node) Advance(now time.Duration) {
	n.now = max(n.now, now)
	if n.dead {
		return
	}
	if n.valid && n.now >= n.until {
		n.valid = false
		n.do(Action{Kind: Expired})
	}
	if !n.alone && n.now-n.counted >= n.t.Unreachable {
		n.alone = true
		n.do(Action{Kind: Alone})
	}
	if n.now < n.next {
		return
	}
	n.number++
	n.next = n.now + n.t.Every
	if len(n.sent) == maxSent {
		n.sent = append(n.sent[:0], n.sent[1:]...)
	}
	n.sent = append(n.sent, sending{n.number, n.now})
	n.do(Action{Kind: Send, Number: n.number})
}

// Acknowledged says that the cluster has counted a heartbeat. The promise runs from the time at which the heartbeat was sent.
func (n *Node) Acknowledged(number uint64) {
	i := 0
	for i < len(n.sent) && n.sent[i].number < number {
		i++
	}
	if n.dead || i == len(n.sent) || n.sent[i].number != number {
		return // an older one than the newest that was acknowledged, or none of this node's
	}
	n.counted = n.sent[i].at
	n.sent = append(n.sent[:0], n.sent[i+1:]...)
	n.until = n.counted + n.t.Dead
	n.do(Action{Kind: ValidUntil, Until: n.until})
	n.valid = n.until > n.now
	if n.alone && n.now-n.counted < n.t.Unreachable {
		n.alone = false
		n.do(Action{Kind: Together})
	}
}

// ToldDead says that the cluster has declared this node dead. Nothing makes it live again.
func (n *Node) ToldDead() {
	if n.dead {
		return
	}
	n.dead, n.valid = true, false
	n.do(Action{Kind: EndAll})
}

// NextTime returns when Advance is needed. some is false when it is not.
func (n *Node) NextTime() (at time.Duration, some bool) {
	at = n.next
	if n.valid {
		at = min(at, n.until)
	}
	if !n.alone {
		at = min(at, n.counted+n.t.Unreachable)
	}
	return at, !n.dead
}

func (n *Node) do(a Action) { n.out = append(n.out, a) }

// Actions returns what is to be done since the last call. The list is the caller's.
func (n *Node) Actions() []Action {
	list := n.out
	n.out = nil
	return list
}
