package link

import (
	"math"
	"slices"

	"github.com/eagleray/eagleray/core/internal/resume"
)

// What was written to the control stream before something was written to another stream also arrives before it (package
// resume). But different goroutines read the two streams. So what arrives on a stream waits until the reader of the control stream has
// handled all control bytes that came before: it asks for more when it has.

// order knows how far the control stream has come.
type order struct {
	came    uint64 // bytes that have arrived
	handled uint64 // bytes that its reader has handled
	waiting []*Stream
}

// marks is what a stream waits for.
type marks struct {
	list  []mark
	ended uint64 // control bytes before its end
	last  uint64 // the highest of all
}

// mark says that the bytes from an offset of the stream on wait for so many control bytes.
type mark struct{ from, after uint64 }

// mostMarks bounds the list. At the bound the last mark waits for what the next one would wait for.
const mostMarks = 32

// waits notes that what comes on a stream now waits for the control bytes that have come. It returns how many these are.
func (s *session) waits(x *Stream) uint64 {
	o := &s.order
	if o.came > o.handled && x.id != resume.Control {
		if x.marks.last <= o.handled { // it is not among the waiting ones
			o.waiting = append(o.waiting, x)
		}
		x.marks.last = o.came
	}
	return o.came
}

// arrives notes that bytes came on a stream.
func (s *session) arrives(x *Stream, n int) {
	if x.id == resume.Control {
		s.order.came += uint64(n)
	} else if after := s.waits(x); after > s.order.handled {
		m := &x.marks
		switch k := len(m.list); {
		case k > 0 && m.list[k-1].after == after:
		case k == mostMarks:
			m.list[k-1].after = after
		default:
			m.list = append(m.list, mark{x.came, after})
		}
	}
	x.came += uint64(n)
}

// handle says that so many control bytes are handled, and wakes the streams that waited for them.
func (s *session) handle(n uint64) {
	o := &s.order
	if n <= o.handled {
		return
	}
	o.handled = n
	o.waiting = slices.DeleteFunc(o.waiting, func(x *Stream) bool {
		m := &x.marks
		k := 0
		for k < len(m.list) && m.list[k].after <= n {
			k++
		}
		m.list = slices.Delete(m.list, 0, k)
		x.readers.Broadcast()
		return m.last <= n
	})
	if len(o.waiting) == 0 {
		o.waiting = nil
	}
}

// handleAll lets everything pass, because nobody reads the control stream any more.
func (s *session) handleAll() { s.handle(math.MaxUint64) }

// readable is how many bytes of a stream may be read now.
func (x *Stream) readable() int {
	if len(x.marks.list) > 0 {
		return int(x.marks.list[0].from - x.given)
	}
	return x.in.n
}
