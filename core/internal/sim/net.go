package sim

// Net has the channels of a world. What is sent on one channel arrives in order; among channels there is no order.
type Net[K comparable, M any] struct {
	die  *Die
	all  map[K]*channel[M]
	keys []K // in the order in which the channels came to be
}

type channel[M any] struct {
	waiting []M
	blocked bool
}

// NewNet returns a net without channels. They come to be when they are used.
func NewNet[K comparable, M any](d *Die) *Net[K, M] {
	return &Net[K, M]{die: d, all: map[K]*channel[M]{}}
}

func (n *Net[K, M]) channel(k K) *channel[M] {
	c := n.all[k]
	if c == nil {
		c = &channel[M]{}
		n.all[k] = c
		n.keys = append(n.keys, k)
	}
	return c
}

// Send puts a message on a channel.
func (n *Net[K, M]) Send(k K, m M) {
	c := n.channel(k)
	c.waiting = append(c.waiting, m)
}

// Deliver takes the first message out of one of the channels that have some and are not blocked. ok is false when there is none.
func (n *Net[K, M]) Deliver() (k K, m M, ok bool) {
	var some []K
	for _, k := range n.keys {
		if c := n.all[k]; len(c.waiting) > 0 && !c.blocked {
			some = append(some, k)
		}
	}
	if len(some) == 0 {
		return k, m, false
	}
	k = Pick(n.die, some)
	c := n.all[k]
	m = c.waiting[0]
	c.waiting = c.waiting[1:]
	return k, m, true
}

// Waiting returns how many messages a channel has.
func (n *Net[K, M]) Waiting(k K) int {
	if c := n.all[k]; c != nil {
		return len(c.waiting)
	}
	return 0
}

// Block holds back what is on a channel and what will be, until Unblock.
func (n *Net[K, M]) Block(k K) { n.channel(k).blocked = true }

// Unblock lets messages of a channel arrive again.
func (n *Net[K, M]) Unblock(k K) { n.channel(k).blocked = false }

// UnblockAll lets messages of all channels arrive again.
func (n *Net[K, M]) UnblockAll() {
	for _, c := range n.all {
		c.blocked = false
	}
}

// LoseAll removes all messages of a channel.
func (n *Net[K, M]) LoseAll(k K) { n.channel(k).waiting = nil }

// Lose removes some of a channel's last messages, any number of them.
func (n *Net[K, M]) Lose(k K) {
	c := n.channel(k)
	c.waiting = c.waiting[:n.die.N(len(c.waiting)+1)]
}
