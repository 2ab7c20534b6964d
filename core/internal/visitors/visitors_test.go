package visitors

import (
	"errors"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// pair is two nodes: the first asks, the second answers.
type pair struct {
	asks    *Visitors
	knows   Info
	held    chan struct{} // the answer waits for it; nil: it does not
	mu      sync.Mutex
	asked   []string
	refused []error
	peer    *wire.Peer
	broken  error // of the connection
}

func newPair(t *testing.T) *pair {
	p := &pair{}
	refuse := func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = append(p.refused, err)
	}
	answers := New(Options{Here: p.here, Refused: refuse})
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) {
		if !answers.Handle(m) {
			_ = m.Fail(errors.New("who is meant"))
		}
	}, nil)
	p.peer = wire.NewPeer(here, func(*wire.Message) {}, nil)
	at.Start()
	p.peer.Start()
	t.Cleanup(at.Close)
	t.Cleanup(p.peer.Close)
	p.asks = New(Options{Network: p, Refused: refuse})
	return p
}

func (p *pair) Control(uint32) (*wire.Peer, error) { return p.peer, p.broken }

func (p *pair) here(job ids.Job, env string) Info {
	if p.held != nil {
		<-p.held
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, job.String()+" "+env)
	return p.knows
}

type answer struct {
	Info
	err error
}

func (p *pair) ask(env string) <-chan answer {
	got := make(chan answer, 1)
	p.asks.Ask(3, ids.JobOf(7), env, func(i Info, err error) { got <- answer{i, err} })
	return got
}

func wait(t *testing.T, got <-chan answer) answer {
	t.Helper()
	select {
	case a := <-got:
		return a
	case <-time.After(30 * time.Second):
		t.Fatal("there is no answer")
	}
	return answer{}
}

var env = wire.EnvSpec{
	Key: "k", Python: "/py", SysPath: []string{"/a", "/b"}, Cwd: "/c", Env: map[string]string{"X": "1"},
	Preload: []string{"m"}, Bare: true, JobEnv: map[string]string{"Y": "2"},
}

func TestAsk_JobIsKnown_AllOfItArrives(t *testing.T) {
	p := newPair(t)
	p.knows = Info{Known: true, Namespace: "ns", Env: &env}
	if a := wait(t, p.ask("k")); a.err != nil || !reflect.DeepEqual(a.Info, p.knows) {
		t.Errorf("got %+v", a)
	}
	if len(p.asked) != 1 || p.asked[0] != "00000007 k" {
		t.Errorf("asked %q", p.asked)
	}
	p.knows = Info{Known: true, Namespace: "ns"}
	if a := wait(t, p.ask("")); a.err != nil || !reflect.DeepEqual(a.Info, p.knows) {
		t.Errorf("without an environment: %+v", a)
	}
	p.knows = Info{}
	if a := wait(t, p.ask("k")); a.err != nil || a.Known {
		t.Errorf("of a job that has ended: %+v", a)
	}
}

// Many who want to know the same ask once, and all hear the answer.
func TestAsk_ManyAtOnce_OneQuestion(t *testing.T) {
	p := newPair(t)
	p.knows, p.held = Info{Known: true, Namespace: "ns", Env: &env}, make(chan struct{})
	var all []<-chan answer
	for range 100 {
		all = append(all, p.ask("k"))
	}
	other := p.ask("")
	if n := p.asks.Sizes()["job_questions"]; n != 2 {
		t.Errorf("%d questions are under way, not 2", n)
	}
	close(p.held)
	for _, got := range all {
		if a := wait(t, got); a.err != nil || a.Namespace != "ns" {
			t.Fatalf("got %+v", a)
		}
	}
	wait(t, other)
	if len(p.asked) != 2 || p.asks.Sizes()["job_questions"] != 0 {
		t.Errorf("asked %q, %v is left", p.asked, p.asks.Sizes())
	}
}

func TestAsk_NoAnswer_SaysWhom(t *testing.T) {
	p := newPair(t)
	p.knows = Info{Known: true} // and the environment is missing
	for name, prepare := range map[string]func(){
		"an answer without the environment": func() {},
		"a connection that is gone":         func() { p.broken = errors.New("no path") },
		"no other node":                     func() { p.asks.o.Network = nil },
	} {
		prepare()
		if a := wait(t, p.ask("k")); a.err == nil || !strings.Contains(a.err.Error(), "ask node 3 about job 00000007") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestHandle_WhatMakesNoSense_IsRefused(t *testing.T) {
	p := newPair(t)
	if err := p.peer.Call(t.Context(), linkmsg.TJobAsk, "text", nil); err == nil {
		t.Error("a text is a question")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) != 1 {
		t.Errorf("refused: %v", p.refused)
	}
}

func TestPack_Unpack_IsTheSame(t *testing.T) {
	b, err := Pack(Info{Known: true, Namespace: "ns", Env: &env})
	if err != nil {
		t.Fatal(err)
	}
	if i, err := Unpack(b, "k"); err != nil || i.Namespace != "ns" || !reflect.DeepEqual(*i.Env, env) {
		t.Errorf("got %+v, %v", i, err)
	}
	if _, err := Unpack(b, "other"); err == nil {
		t.Error("another environment is the one that was asked for")
	}
	if _, err := Unpack(b[:len(b)-3], "k"); err == nil {
		t.Error("what is cut is read")
	}
}
