package headlink

import (
	"encoding/binary"
	"time"

	"github.com/eagleray/eagleray/core/internal/place"
)

// placer drives the machine of package place: it tells it the time and takes what it decides. The server's lock guards it.
type placer struct {
	machine *place.Machine
	began   time.Time
	timer   *time.Timer
	say     func(place.Action)
	ended   bool
}

// newPlacer returns the placer of a process of the head. Its tickets are others than those of the processes before. Tick
// is called when time has to be told, and then has to call decide.
func newPlacer(boot [16]byte, say func(place.Action), tick func()) *placer {
	p := &placer{
		machine: place.New(place.Options{FirstTicket: place.Ticket(binary.BigEndian.Uint64(boot[:8])>>1 | 1)}),
		began:   time.Now(), say: say, timer: time.AfterFunc(time.Hour, tick),
	}
	p.timer.Stop()
	p.machine.Await(true)
	return p
}

// decide tells the machine something, and says what it decides.
func (p *placer) decide(f func(m *place.Machine)) {
	if p.ended {
		return
	}
	p.machine.Advance(time.Since(p.began))
	f(p.machine)
	for _, a := range p.machine.Actions() {
		p.say(a)
	}
	if at, ok := p.machine.Next(); ok {
		p.timer.Reset(max(0, at-time.Since(p.began)) + time.Millisecond)
	} else {
		p.timer.Stop()
	}
}

// end ends it: nothing is decided any more.
func (p *placer) end() {
	p.ended = true
	p.timer.Stop()
}
