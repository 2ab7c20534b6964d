package alive

import (
	"fmt"
	"testing"
	"time"

	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts plays testdata/*.txt: a head and one node. The indented lines after an event are the actions of both.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		timing, err := NewTiming(DefaultDead)
		if err != nil {
			t.Fatal(err)
		}
		p := &played{t: t, timing: timing, now: time.Hour}
		p.h, p.n = NewHeads(timing, p.now, nil, nil), NewNode(timing, p.now)
		return script.Trace(t, src, p.do)
	})
}

type played struct {
	t      *testing.T
	timing Timing
	now    time.Duration
	h      *Heads
	n      *Node
}

// do does one event: up NODE, heard NODE NUMBER, gone NODE [obituary], died NODE, committed ROUND [failed], lead NODE… (negative: one that
// the state has as dead without proof), replace? NODE, acknowledged NUMBER, told; time MILLISECONDS passes in steps of half a second at both, pause MILLISECONDS at once.
func (p *played) do(e *script.Event) (lines []string) {
	switch e.Name {
	case "up":
		p.h.Up(uint32(e.Int(0)))
	case "heard":
		p.h.Heard(uint32(e.Int(0)), uint64(e.Int(1)))
	case "gone":
		why := Goodbye
		if e.Has("obituary") {
			why = Obituary
		}
		p.h.Gone(uint32(e.Int(0)), why)
	case "committed":
		p.h.Committed(uint64(e.Int(0)), !e.Has("failed"))
	case "lead":
		var nodes, dead []uint32
		for _, n := range e.Ints() {
			if n < 0 {
				dead = append(dead, uint32(-n))
			} else {
				nodes = append(nodes, uint32(n))
			}
		}
		p.h = NewHeads(p.timing, p.now, nodes, dead)
	case "died":
		p.h.Died(uint32(e.Int(0)))
	case "replace?":
		return []string{fmt.Sprint(p.h.MayReplace(uint32(e.Int(0))))}
	case "acknowledged":
		p.n.Acknowledged(uint64(e.Int(0)))
	case "told":
		p.n.ToldDead()
	case "time":
		for left := time.Duration(e.Int(0)) * time.Millisecond; left > 0; left -= every {
			p.now += min(left, every)
			p.h.Advance(p.now)
			p.n.Advance(p.now)
			lines = append(lines, p.actions()...)
		}
		return lines
	case "pause":
		p.now += time.Duration(e.Int(0)) * time.Millisecond
		p.h.Advance(p.now)
		p.n.Advance(p.now)
	default:
		e.Unknown()
	}
	return p.actions()
}

func (p *played) actions() (lines []string) {
	for _, a := range p.h.Actions() {
		lines = append(lines, "head: "+a.String())
	}
	for _, a := range p.n.Actions() {
		if a.Kind == ValidUntil {
			a.Until -= time.Hour
		}
		if a.Kind != Send {
			lines = append(lines, "node: "+a.String())
		}
	}
	return lines
}
