package dir

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts plays testdata/*.txt: each line is an event, the indented lines after it are what nodes are told, in order.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		s := &interpreter{t: t, d: New()}
		return script.Trace(t, src, s.do)
	})
}

// interpreter executes the lines of one script.
type interpreter struct {
	t *testing.T
	d *Dir
}

// processOf returns the n-th process that owns objects. Those numbered from 100n on are its objects.
func processOf(n int) (o ids.Owner) {
	o[3], o[11] = 1, byte(n+1)
	return o
}

func objectOf(n int) ids.Object {
	return ids.NewObject(uint64(n), processOf(n/100), ids.JobOf(1), 1)
}

func (s *interpreter) do(e *script.Event) []string {
	d := s.d
	object := func() ids.Object { return objectOf(e.Int(0)) }
	switch e.Name {
	case "made": // made OBJECT VERSION MEGABYTES NODE
		d.Made(object(), Version(e.Int(1)), uint64(e.Int(2))<<20, Node(e.Int(3)))
	case "has": // has OBJECT VERSION NODE
		d.Has(object(), Version(e.Int(1)), Node(e.Int(2)))
	case "gone": // gone OBJECT VERSION NODE
		d.Gone(object(), Version(e.Int(1)), Node(e.Int(2)))
	case "where": // where OBJECT NODE ASK
		d.Where(object(), Node(e.Int(1)), uint64(e.Int(2)))
	case "failed": // failed OBJECT VERSION NODE HOLDER [absent]
		d.Failed(object(), Version(e.Int(1)), Node(e.Int(2)), Node(e.Int(3)), e.Has("absent"))
	case "stop": // stop OBJECT NODE
		d.Stop(object(), Node(e.Int(1)))
	case "freed": // freed OBJECT
		d.Freed(object())
	case "ownergone": // ownergone PROCESS
		d.OwnerGone(processOf(e.Int(0)))
	case "nodegone": // nodegone NODE
		d.NodeGone(Node(e.Int(0)))
	case "nodeback": // nodeback NODE
		d.NodeBack(Node(e.Int(0)))
	case "lostwith": // lostwith OBJECT
		n, known := d.LostWith(object())
		return []string{fmt.Sprintf("with node %d, known: %v", n, known)}
	case "drop": // drop OBJECT VERSION NODE
		may := d.Drop(object(), Version(e.Int(1)), Node(e.Int(2)))
		return append([]string{fmt.Sprintf("may drop: %v", may)}, s.told()...)
	case "show": // show OBJECT
		return s.show(object())
	case "count":
		return []string{fmt.Sprintf("%d objects of %d processes", d.Len(), len(d.owned))}
	default:
		e.Unknown()
	}
	return s.told()
}

func (s *interpreter) told() (lines []string) {
	for _, a := range s.d.Actions() {
		lines = append(lines, a.String())
	}
	return lines
}

func (s *interpreter) show(id ids.Object) (lines []string) {
	e := s.d.entries[id]
	if e == nil || !s.d.Knows(id) {
		return []string{"no entry"}
	}
	for _, m := range e.members {
		line := fmt.Sprintf("node %d serves %d", m.node, m.load)
		switch {
		case m.making:
			line += ", makes it"
		case m.whole:
			line += ", has it"
		case m.from != nil:
			line += fmt.Sprintf(", pulls from node %d", m.from.node)
			for _, x := range m.more {
				line += fmt.Sprintf(" and node %d", x.node)
			}
		case len(m.asks) > 0:
			line += ", waits"
		}
		if m == e.primary {
			line += ", primary"
		}
		lines = append(lines, line)
	}
	return lines
}
