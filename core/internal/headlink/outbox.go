package headlink

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// MaxUnderWay is how many reports or orders are sent ahead of their acknowledgement.
const MaxUnderWay = 200

// maxReport bounds one report, in bytes. The state takes no larger ones.
const maxReport = 8 << 20

// rawBody is an encoded body, which is sent as it is.
func rawBody(b []byte) msgpack.RawMessage { return msgpack.RawMessage(b) }

// outbox keeps numbered items, in order, until the other side has acknowledged them. Its user guards it.
type outbox struct {
	first uint64 // the number of items[0]; the first number of all is 1
	items [][]byte
	sent  int // how many of the items were sent on the present connection or arrived before
}

func newOutbox() outbox { return outbox{first: 1} }

// add appends an item.
func (o *outbox) add(b []byte) { o.items = append(o.items, b) }

// next takes the next item that may be sent. It reports false when there is none, or when enough are under way.
func (o *outbox) next() (n uint64, b []byte, ok bool) {
	if o.sent >= min(len(o.items), MaxUnderWay) {
		return 0, nil, false
	}
	n, b = o.first+uint64(o.sent), o.items[o.sent]
	o.sent++
	return n, b, true
}

// acknowledged drops the items up to number n.
func (o *outbox) acknowledged(n uint64) error {
	if n < o.first {
		return nil // once more
	}
	if n-o.first >= uint64(o.sent) {
		return fmt.Errorf("number %d is acknowledged, and the last one sent is %d", n, o.first+uint64(o.sent)-1)
	}
	k := int(n - o.first + 1)
	clear(o.items[:k])
	o.items, o.first, o.sent = o.items[k:], n+1, o.sent-k
	if len(o.items) == 0 {
		o.items = nil // the room of a long silence goes
	}
	return nil
}

// resume continues on a new connection. The other side has the items up to number arrived.
func (o *outbox) resume(arrived uint64) error {
	if arrived+1 < o.first || arrived-(o.first-1) > uint64(len(o.items)) {
		return fmt.Errorf("number %d has arrived, and only %d to %d are kept", arrived, o.first, o.first+uint64(len(o.items))-1)
	}
	o.sent = int(arrived - (o.first - 1))
	return nil
}

// restart continues with another process, which has none of the items.
func (o *outbox) restart() { o.sent = 0 }
