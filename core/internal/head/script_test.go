package head_test

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
	"github.com/eagleray/eagleray/tests/script"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// The head is held to be a raftstate user: no adapter stands between them.
var _ head.State = (*raftstate.Node)(nil)

// TestMain fails the package when a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	code := m.Run()
	for deadline := time.Now().Add(patience); code == 0; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if !strings.Contains(stacks.String(), "core/internal/head.(") && !strings.Contains(stacks.String(), "hashicorp/raft.") {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", stacks.String())
			code = 1
		}
	}
	os.Exit(code)
}

// TestScripts runs every script in testdata: a line at the margin is a
// command, the indented lines after it are what the head does because of it.
func TestScripts(t *testing.T) {
	script.Run(t, func(t *testing.T, src string) string { return script.Trace(t, src, newPlay(t).do) })
}

// play is one script's head, on a real state.
type play struct {
	t      *testing.T
	ctx    context.Context
	state  *raftstate.Node
	head   *head.Head
	clock  int64
	trace  []string // written on the head's goroutine; read when it has settled
	cancel map[string]func() bool
}

func newPlay(t *testing.T) *play {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	state, err := raftstate.Open(raftstate.Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	p := &play{t: t, ctx: ctx, state: state, cancel: map[string]func() bool{}}
	p.head = p.open()
	return p
}

func (p *play) open() *head.Head {
	h, err := head.Open(head.Options{State: p.state, Placer: p, Groups: p, NowMs: func() int64 { return p.clock }})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(h.Close)
	if err := h.AwaitReports(p.ctx); err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *play) note(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

// PlaceActor implements head.Placer.
func (p *play) PlaceActor(a record.Actor) {
	p.note("place %s spec=%q", inst(a.Instance()), a.Spec)
}

// StopActor implements head.Placer.
func (p *play) StopActor(i record.Instance, how head.Stop) { p.note("stop %s %s", how, inst(i)) }

// PlaceGroup implements head.GroupPlacer.
func (p *play) PlaceGroup(g record.Group) {
	p.note("place group %c#%d beside %s", g.ID[0], g.Epoch, nodeLetters(g.Nodes))
}

// RetryGroup implements head.GroupPlacer.
func (p *play) RetryGroup(id ids.Group, epoch uint64) { p.note("retry group %c#%d", id[0], epoch) }

// OpenGroup implements head.GroupPlacer.
func (p *play) OpenGroup(g record.Group) {
	p.note("open group %c#%d on %s", g.ID[0], g.Epoch, nodeLetters(g.Nodes))
}

// DropGroup implements head.GroupPlacer.
func (p *play) DropGroup(g record.Group) {
	p.note("drop group %c#%d on %s", g.ID[0], g.Epoch, nodeLetters(g.Nodes))
}

// nodeLetters writes the nodes of bundles.
func nodeLetters(list []ids.Node) (s string) {
	for _, n := range list {
		s += letter(n[0])
	}
	return "[" + s + "]"
}

// inst writes an instance as A#1 n1/w1.
func inst(i record.Instance) string {
	s := fmt.Sprintf("%c#%d", i.Actor[0], i.Incarnation)
	if i.Node != (ids.Node{}) || i.Worker != (ids.Worker{}) {
		s += " " + letter(i.Node[0]) + "/" + letter(i.Worker[0])
	}
	return s
}

func letter(b byte) string {
	if b == 0 {
		return "-"
	}
	return string(rune(b))
}

// do executes one line, and returns what happened.
func (p *play) do(e *script.Event) []string {
	p.trace = nil
	p.clock += 1000
	err := p.command(e)
	if serr := p.head.AwaitReports(p.ctx); serr != nil {
		p.t.Fatalf("%s: %v", e.Line, serr)
	}
	if err != nil {
		p.note("error: %s", shorten(err.Error()))
	}
	return p.trace
}

// shorten writes an id by its first byte.
func shorten(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		bare := strings.Trim(w, ":,")
		if len(bare) >= 24 && strings.HasSuffix(bare, "00000000") {
			if b, err := strconv.ParseUint(bare[:2], 16, 8); err == nil && b > 0 {
				words[i] = strings.Replace(w, bare, string(rune(b)), 1)
			}
		}
	}
	return strings.Join(words, " ")
}

func (p *play) show(a record.Actor) {
	s := fmt.Sprintf("%s %s", a.State, inst(a.Instance()))
	if a.NumRestarts > 0 {
		s += fmt.Sprintf(" restarts=%d", a.NumRestarts)
	}
	if a.Released {
		s += " released"
	}
	if a.Cause.Reason != "" {
		s += " cause=" + shorten(a.Cause.String())
	}
	if a.EndedMs != 0 {
		s += fmt.Sprintf(" ended=%d", a.EndedMs)
	}
	p.note("%s", s)
}
