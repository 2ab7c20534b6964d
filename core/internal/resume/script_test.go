package resume

import (
	"fmt"
	"testing"
	"time"

	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts plays testdata/*.txt. In each script two nodes, a with number 1 and b with number 2, talk over
// connections that the script makes and ends. The indented lines after an event are the actions of both.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string {
		p := &pair{t: t, now: time.Second, plugs: map[string]*[2]ConnID{}, sent: map[string]*[2][][]byte{}}
		return script.Trace(t, src, p.do)
	})
}

// pair is both ends of a session. Nodes are "a" and "b"; connections have the names that the script gives them.
type pair struct {
	t     *testing.T
	now   time.Duration
	s     [2]*Session
	boot  uint64
	o     Options
	plugs map[string]*[2]ConnID
	sent  map[string]*[2][][]byte // frames to each end that have not arrived
	lines []string
}

func at(node string) int { return int(node[0] - 'a') }

func (p *pair) note(i int, format string, args ...any) {
	p.lines = append(p.lines, string(rune('a'+i))+" "+fmt.Sprintf(format, args...))
}

func (p *pair) begin(i int) {
	p.boot++
	o := p.o
	o.Self, o.Peer, o.Boot = uint32(1+i), uint32(2-i), p.boot
	s, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	s.Advance(p.now)
	p.s[i] = s
}

// do does one event. Its words are described at each case.
func (p *pair) do(e *script.Event) []string {
	p.lines = nil
	switch e.Name {
	case "nodes": // nodes [window=] [unsent=] [keep] [relay]
		p.o.Window, _ = e.OptionNumber("window")
		p.o.MaxUnsent, _ = e.OptionNumber("unsent")
		p.o.Keep, p.o.Relay = e.Has("keep"), e.Has("relay")
		p.begin(0)
		p.begin(1)
	case "restart": // restart NODE
		p.begin(at(e.Word(0)))
	case "time": // time MILLISECONDS
		p.now += time.Duration(e.Int(0)) * time.Millisecond
		for _, s := range p.s {
			s.Advance(p.now)
		}
	case "hello", "accept", "attach", "connect", "cut", "detached":
		p.connection(e)
	case "send", "arrive":
		p.frames(e)
	default:
		p.program(e, at(e.Word(0)))
	}
	for i, s := range p.s {
		for _, a := range s.Actions() {
			p.note(i, "%s", a)
		}
	}
	return p.lines
}

// connect NODE CONN NAME: the node's attempt CONN comes through at once. hello, accept and attach are its three parts, as
// hello NODE CONN NAME | accept NAME | attach NAME. cut NAME ends a connection at both ends, detached NODE NAME at one.
// A connection whose name begins with r goes through the relay.
func (p *pair) connection(e *script.Event) {
	switch e.Name {
	case "connect":
		for _, line := range []string{"hello " + e.Word(0) + " " + e.Word(1) + " " + e.Word(2), "accept " + e.Word(2), "attach " + e.Word(2)} {
			p.connection(script.NewEvent(p.t, line))
		}
	case "cut":
		for i, c := range p.plugs[e.Word(0)] {
			p.s[i].Detached(c)
		}
		*p.sent[e.Word(0)] = [2][][]byte{}
	case "detached":
		p.s[at(e.Word(0))].Detached(p.plugs[e.Word(1)][at(e.Word(0))])
	case "hello":
		i, name := at(e.Word(0)), e.Word(2)
		h, err := p.s[i].Hello(ConnID(e.Int(1)))
		p.plugs[name], p.sent[name] = &[2]ConnID{}, &[2][][]byte{}
		if err != nil {
			p.says(i, err)
			return
		}
		p.plugs[name][i] = ConnID(e.Int(1))
		p.sent[name][1-i] = [][]byte{h.Append(nil)}
	case "accept", "attach":
		name := e.Word(0)
		for i := range p.s {
			if len(p.sent[name][i]) == 0 {
				continue
			}
			h, err := ParseHello(p.sent[name][i][0])
			if err != nil {
				p.t.Fatal(err)
			}
			p.sent[name][i] = nil
			if e.Name == "attach" {
				p.says(i, p.s[i].Attach(p.plugs[name][i], h, relayed(name)))
				return
			}
			c, answer, err := p.s[i].Accept(h, relayed(name))
			p.says(i, err)
			p.plugs[name][i] = c
			if answer.Boot != 0 {
				p.sent[name][1-i] = [][]byte{answer.Append(nil)}
			}
			return
		}
	}
}

func relayed(name string) bool { return name[0] == 'r' }

func (p *pair) says(i int, err error) {
	if err != nil {
		p.note(i, "error: %v", err)
	}
}

// send NODE NAME: the node writes what it has to a connection. arrive NODE NAME [n]: the first n frames, else all, arrive at the node.
func (p *pair) frames(e *script.Event) {
	i, name := at(e.Word(0)), e.Word(1)
	switch e.Name {
	case "send":
		p.send(i, name)
	case "arrive":
		list := p.sent[name][i]
		n := len(list)
		if e.Word(2) != "" {
			n = min(n, e.Int(2))
		}
		p.sent[name][i] = list[n:]
		for _, b := range list[:n] {
			p.arrive(i, name, b)
		}
	}
}

func (p *pair) send(i int, name string) {
	b := p.s[i].Next(p.plugs[name][i], nil)
	for len(b) > 0 {
		f, rest, ok, err := ParseFrame(b)
		if err != nil || !ok {
			p.t.Fatalf("node %d sends no frame: %v", i, err)
		}
		kinds := map[Kind]string{kindAck: "ack", kindOpen: "open", kindData: "data", kindGrant: "grant", kindEnd: "end"}
		p.note(i, "sends %d: %s of stream %d, %d bytes", f.Number, kinds[f.Kind], f.Stream, len(f.Body))
		p.sent[name][1-i] = append(p.sent[name][1-i], b[:len(b)-len(rest)])
		b = rest
	}
}

func (p *pair) arrive(i int, name string, b []byte) {
	f, _, _, err := ParseFrame(b)
	if err != nil {
		p.t.Fatal(err)
	}
	p.says(i, p.s[i].Received(p.plugs[name][i], f))
}

// program does what a program does: open NODE TARGET, write NODE STREAM BYTES, consume NODE STREAM BYTES, end NODE STREAM, dead NODE,
// next NODE (asks when the clock is needed).
func (p *pair) program(e *script.Event, i int) {
	s := p.s[i]
	switch e.Name {
	case "open":
		id, err := s.Open([]byte(e.Word(1)))
		p.says(i, err)
		p.note(i, "has stream %d", id)
	case "write":
		p.note(i, "takes %d", s.Write(StreamID(e.Int(1)), make([]byte, e.Int(2))))
	case "consume":
		s.Consumed(StreamID(e.Int(1)), e.Int(2))
	case "end":
		s.End(StreamID(e.Int(1)), ProcessDied)
	case "dead":
		s.PeerDead()
	case "next":
		at, some := s.NextTime()
		p.note(i, "needs the clock: %v in %v", some, max(0, at-p.now))
	default:
		e.Unknown()
	}
}
