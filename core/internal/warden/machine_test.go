package warden

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// node is a head that is started again, and a daemon.
func node() *machine {
	return newMachine([]Child{{Name: "head", Restart: true, Leaves: func(status int) bool { return status == 76 }}, {Name: "daemon", Again: func(status int) bool { return status == 75 }}}, 30*time.Second, 10*time.Second)
}

// play tells the machine a script, one event a line, and returns its orders, those of one event in one line.
// Events: started K, spoke K LINE, failed K, gone K STATUS, signal, at MILLISECONDS.
func play(m *machine, script string) (orders []string) {
	take := func() {
		var words []string
		for _, a := range m.take() {
			word := string(a.do)
			if a.do != finish && a.do != ready {
				word += " " + m.kids[a.kid].name
			}
			words = append(words, word)
		}
		orders = append(orders, strings.Join(words, ", "))
	}
	take()
	for line := range strings.Lines(strings.TrimSpace(script)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var k, n int
		switch name {
		case "started":
			fmt.Sscan(rest, &k)
			m.started(k, 100+k)
		case "spoke":
			fmt.Sscan(rest, &k)
			_, text, _ := strings.Cut(rest, " ")
			m.spoke(k, text)
		case "failed":
			fmt.Sscan(rest, &k)
			m.notStarted(k, errors.New("no such program"))
		case "gone":
			fmt.Sscan(rest, &k, &n)
			m.gone(k, n)
		case "signal":
			m.signal()
		case "at":
			fmt.Sscan(rest, &n)
			m.advance(time.Duration(n) * time.Millisecond)
		default:
			panic(line)
		}
		take()
	}
	return orders
}

func TestMachine_Scripts(t *testing.T) {
	// Both are up after these.
	const both = "spoke 0 ready\nspoke 1 ready\n"
	for name, c := range map[string]struct {
		script, want, why string
	}{
		"start and stop": {
			"started 0\nspoke 0 ready 6379\nstarted 1\nspoke 1 ready\nsignal\ngone 1 0\ngone 0 0",
			"start head||start daemon||ready|term daemon|sweep daemon, term head|sweep head, finish", "",
		},
		"a second signal": {
			both + "signal\nsignal\ngone 0 -9\ngone 1 -9",
			"start head|start daemon|ready|term daemon|kill head, kill daemon|sweep head|sweep daemon, finish", "",
		},
		"the daemon ends": {
			both + "gone 1 -9\ngone 0 0",
			"start head|start daemon|ready|sweep daemon, term head|sweep head, finish", "the daemon (pid 0) was killed by signal 9 (SIGKILL)",
		},
		"the head leaves, and the daemon goes on": {
			both + "gone 0 76\nat 60000\nsignal\ngone 1 0",
			"start head|start daemon|ready|sweep head||term daemon|sweep daemon, finish", "",
		},
		"the head would leave before it was ready": {
			"spoke 0 error: it was removed\ngone 0 76",
			"start head|kill head|sweep head, finish", "head: it was removed",
		},
		"the daemon is to come back, fails, and comes back": {
			both + "gone 1 75\nat 100\ngone 1 1\nat 300\nspoke 1 ready\ngone 1 1\ngone 0 0",
			"start head|start daemon|ready|wipe daemon, restart daemon|start daemon|wipe daemon, restart daemon|start daemon||sweep daemon, term head|sweep head, finish",
			"the daemon (pid 0) exited with code 1",
		},
		"the daemon is to come back before it was ready": {
			"spoke 0 ready\ngone 1 75\ngone 0 0",
			"start head|start daemon|sweep daemon, term head|sweep head, finish", "the daemon (pid 0) exited with code 75 before it was ready",
		},
		"the head ends and comes back": {
			both + "gone 0 2\nat 99\nat 100\nstarted 0\nspoke 0 ready\nsignal",
			"start head|start daemon|ready|restart head||start head|||term daemon", "",
		},
		"the head's pauses grow": {
			both + "gone 0 2\nat 100\ngone 0 2\nat 299\nat 300\nspoke 0 error: full\ngone 0 1\nat 699\nat 700",
			"start head|start daemon|ready|restart head|start head|restart head||start head|kill head|restart head||start head", "",
		},
		"a steady head begins with the first pause": {
			both + "gone 0 2\nat 100\nspoke 0 ready\nat 60099\ngone 0 2\nat 60299\nspoke 0 ready\nat 120299\ngone 0 2\nat 120399",
			"start head|start daemon|ready|restart head|start head|||restart head|start head|||restart head|start head", "",
		},
		"the head says why not": {
			"spoke 0 error: port 6379 is taken\ngone 0 1",
			"start head|kill head|sweep head, finish", "head: port 6379 is taken",
		},
		"the daemon says why not": {
			"spoke 0 ready\nspoke 1 invalid: no such GPU\ngone 1 -9\ngone 0 0",
			"start head|start daemon|kill daemon|sweep daemon, term head|sweep head, finish", "daemon: no such GPU",
		},
		"the head cannot be started": {
			"failed 0",
			"start head|sweep head, finish", "head: no such program",
		},
		"the daemon ends before it is ready": {
			"spoke 0 ready\nstarted 1\nspoke 1 \ngone 1 3\ngone 0 0",
			"start head|start daemon|||sweep daemon, term head|sweep head, finish", "the daemon (pid 101) exited with code 3 before it was ready",
		},
		"the head is silent": {
			"at 29999\nat 30000\ngone 0 -9",
			"start head||kill head|sweep head, finish", "head: was not ready within 30s",
		},
		"the head talks nonsense": {
			"spoke 0 hello\ngone 0 -9",
			"start head|kill head|sweep head, finish", `head: said "hello" where it should say whether it is ready`,
		},
		"readiness comes after the limit": {
			"at 30000\nspoke 0 ready\ngone 0 -9",
			"start head|kill head||sweep head, finish", "head: was not ready within 30s",
		},
		"nobody listens to SIGTERM": {
			both + "signal\nat 9999\nat 10000\ngone 1 -9\nat 20000\ngone 0 -9",
			"start head|start daemon|ready|term daemon||kill daemon|sweep daemon, term head|kill head|sweep head, finish", "",
		},
		"a signal while the head starts": {
			"signal\nspoke 0 ready\ngone 0 0",
			"start head|term head||sweep head, finish", "",
		},
		"a signal while the head pauses": {
			both + "gone 0 1\nsignal\nat 5000\ngone 1 0",
			"start head|start daemon|ready|restart head|term daemon||sweep daemon, finish", "",
		},
		"a head that starts late and is asked to end is killed in time": {
			"signal\nat 4000\nspoke 0 ready\nat 10000\ngone 0 -9",
			"start head|term head|||kill head|sweep head, finish", "",
		},
		"the head ends while the daemon starts": {
			"spoke 0 ready\ngone 0 1\nat 100\nspoke 1 ready\nspoke 0 ready",
			"start head|start daemon|restart head|start head|ready|", "",
		},
		"the program of the head is gone at its restart": {
			both + "gone 0 1\nat 100\nfailed 0\nat 300",
			"start head|start daemon|ready|restart head|start head|restart head|start head", "",
		},
		"the head ends during the end": {
			both + "signal\ngone 0 1\ngone 1 0",
			"start head|start daemon|ready|term daemon|sweep head|sweep daemon, finish", "",
		},
	} {
		m := node()
		if got := strings.Join(play(m, c.script), "|"); got != c.want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, c.want)
		}
		if why := m.why; (why == nil) != (c.why == "") || why != nil && why.Error() != c.why {
			t.Errorf("%s: the reason is %v, want %s", name, why, c.why)
		}
	}
}

func TestMachine_WhatChildrenSaid_IsKept(t *testing.T) {
	m := node()
	play(m, "spoke 0 ready 10.0.0.1:6379 x\nspoke 1 ready")
	if got := fmt.Sprint(m.said); got != "map[daemon: head:10.0.0.1:6379 x]" {
		t.Error(got)
	}
	play(m, "spoke 0 ready again") // only the first line of a process counts
	if m.said["head"] != "10.0.0.1:6379 x" {
		t.Error(m.said)
	}
	m = node()
	play(m, "spoke 0 invalid: x\ngone 0 1")
	if !m.why.Invalid || m.why.Ready || m.why.Child != "head" || m.why.Status != 1 {
		t.Errorf("%+v", m.why)
	}
}

func TestPause_GrowsToItsBound(t *testing.T) {
	last := time.Duration(0)
	for n := 1; n < 1000; n++ {
		p := pause(n)
		if p < last || p > longestPause || n == 1 && p != firstPause || n == 2 && p != 2*firstPause {
			t.Fatalf("pause %d is %v after %v", n, p, last)
		}
		last = p
	}
	if last != longestPause {
		t.Errorf("it ends at %v", last)
	}
}

// Whatever happens, a process runs for a child at most once, everything ends after a signal, and an
// end is told of once.
func TestMachine_RandomEvents_EndsEverything(t *testing.T) {
	for seed := range uint64(3000) {
		die := rand.New(rand.NewPCG(seed, 1))
		kids := []Child{{Name: "a", Restart: die.IntN(2) == 0}, {Name: "b", Restart: die.IntN(2) == 0}, {Name: "c"}}
		m := newMachine(kids, time.Second, time.Second)
		runs, swept, finished := map[int]bool{}, map[int]int{}, false
		now, asked := time.Duration(0), false
		for step := 0; !finished; step++ {
			if step > 1000 {
				t.Fatalf("seed %d: no end", seed)
			}
			for _, a := range m.take() {
				switch a.do {
				case start:
					if runs[a.kid] || asked && m.ending {
						t.Fatalf("seed %d: %s is started, runs %v, ending %v", seed, kids[a.kid].Name, runs, m.ending)
					}
					runs[a.kid] = true
					m.started(a.kid, step)
				case sweep:
					swept[a.kid]++
				case finish:
					finished = true
				}
			}
			if finished {
				break
			}
			k := die.IntN(3)
			switch die.IntN(6) {
			case 0:
				if runs[k] {
					runs[k] = false
					m.gone(k, die.IntN(3))
				}
			case 1, 2:
				if runs[k] {
					m.spoke(k, []string{"ready", "ready x", "", "error: x", "what"}[die.IntN(5)])
				}
			case 3:
				if die.IntN(10) == 0 {
					asked = true
					m.signal()
				}
			default:
				now += time.Duration(die.IntN(2000)) * time.Millisecond
				m.advance(now)
				if at, any := m.nextTime(); any && at <= now {
					t.Fatalf("seed %d: something is due at %v, it is %v", seed, at, now)
				}
			}
		}
		for k := range kids {
			if runs[k] || swept[k] > 1 || m.kids[k].state != over {
				t.Fatalf("seed %d: %s runs %v, was swept %d times, is %s", seed, kids[k].Name, runs[k], swept[k], m.kids[k].state)
			}
		}
	}
}
