package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/tests/script"
)

// TestScripts_RandomEvents_DecideAsRecorded plays random events and compares
// every action and answer with the trace in testdata/random. The invariants of
// doc.go say what the machine must never do; these traces say what it does: who
// comes first, what is recalled and when, which worker is taken. A change of
// that is a decision: run with -update and read the difference.
func TestScripts_RandomEvents_DecideAsRecorded(t *testing.T) {
	for seed, node := range []string{
		"node totals=CPU:2 idle=1 starts=2",
		"node totals=CPU:3,x:2 gpus=0,1,2 idle=3 starts=3",
		"node totals=CPU:4,memory:100 gpus=0,1 idle=2 starts=4 wait",
		"node totals=CPU:0.5,x:3 gpus=7 idle=2 starts=2",
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := &inventor{interpreter: interpreter{t: t}, r: rand.New(rand.NewPCG(uint64(seed), 3))}
			p.play(node)
			for range 350 {
				p.play(p.event())
				for _, line := range p.ends() {
					p.play(line)
				}
			}
			for _, line := range []string{"demands", "pending", "free", "next"} {
				p.play(line)
			}
			name, got := filepath.Join("testdata", "random", fmt.Sprint(seed)+".txt"), p.trace.String()
			script.Compare(t, name, got)
		})
	}
}

// inventor invents the lines of a script, and plays them.
type inventor struct {
	interpreter
	r       *rand.Rand
	trace   strings.Builder
	clients []int
	last    int // client
	actors  int
}

func (p *inventor) play(line string) {
	fmt.Fprintln(&p.trace, line)
	for _, l := range p.do(script.NewEvent(p.t, line)) {
		fmt.Fprintln(&p.trace, "  "+l)
	}
}

// event gives the next line.
func (p *inventor) event() string {
	r, m := p.r, p.m
	job := 1 + r.IntN(2)
	if len(p.clients) < 2 || r.IntN(40) == 0 && len(p.clients) < 5 {
		p.last++
		p.clients = append(p.clients, p.last)
		line := fmt.Sprintf("client %d %d", p.last, job)
		for c := range 3 {
			p.play(line)
			line = fmt.Sprintf("class %d %d %s", p.last, c, p.needs(c))
		}
		return line
	}
	client, class := pick(r, p.clients), r.IntN(3)
	leases := slices.Sorted(maps.Keys(m.leases))
	switch n := r.IntN(100); {
	case n < 24:
		line := fmt.Sprintf("want %d %d %d", client, class, r.IntN(5))
		if r.IntN(3) == 0 {
			line += fmt.Sprintf(" seen=%d", r.IntN(6))
		}
		if r.IntN(3) == 0 {
			line += fmt.Sprintf(" due=%d next=%d", r.IntN(3), r.IntN(20))
		}
		return line
	case n < 46 && len(leases) > 0:
		id := pick(r, leases)
		how := pick(r, []string{"", "", "", "", " exiting", " unusable"})
		return fmt.Sprintf("return %d %d%s", m.leases[id].demand.client.id, id, how)
	case n < 49 && len(leases) > 0:
		id := pick(r, leases)
		return fmt.Sprintf("move %d %d %d", m.leases[id].demand.client.id, id, class)
	case n < 56:
		if id := p.worker(func(w *worker) bool { return w.hold != nil }); id > 0 {
			return fmt.Sprintf("%s %d", pick(r, []string{"block", "block", "unblock"}), id)
		}
	case n < 61:
		if id := p.worker(func(w *worker) bool { return w.state != workerStarting && w.state != workerEnding }); id > 0 {
			return fmt.Sprintf("%s %d", pick(r, []string{"exit", "leaving"}), id)
		}
	case n < 65:
		p.actors++
		return fmt.Sprintf("actor %d %d need=CPU:1 run=%s name=A%s", p.actors, job, pick(r, []string{"", "CPU:1", "CPU:0.5", "GPU:0.5", "x:1"}),
			pick(r, []string{"", "", " else=CPU:2|CPU:0.5 elserun=CPU:1| after=10"}))
	case n < 67 && p.actors > 0:
		return fmt.Sprintf("%s %d", pick(r, []string{"cancel", "explainactor"}), 1+r.IntN(p.actors))
	case n < 68 && len(p.clients) > 2:
		i := r.IntN(len(p.clients))
		gone := p.clients[i]
		p.clients = slices.Delete(p.clients, i, i+1)
		return fmt.Sprintf("gone %d", gone)
	case n < 69:
		return fmt.Sprintf("job %d env=%s", job, pick(r, []string{"", "e"}))
	case n < 70:
		return fmt.Sprintf("undelivered %d %d%s", client, class, pick(r, []string{"", " due=1"}))
	case n < 75:
		return pick(r, []string{"next", "free", "demands", "pending", fmt.Sprintf("explain %d %d", client, class), fmt.Sprintf("leases %d", client)})
	}
	ms := int(m.now/time.Millisecond) + pick(r, []int{1, 4, 5, 20, 150, 300})
	if at, ok := m.Next(); ok && r.IntN(3) == 0 {
		ms = int((at + time.Millisecond - 1) / time.Millisecond)
	}
	return fmt.Sprintf("time %d", ms)
}

// needs gives the options of a class.
func (p *inventor) needs(c int) string {
	need := "need=" + pick(p.r, []string{"CPU:1", "CPU:1", "CPU:0.5", "CPU:2", "CPU:0.01", "GPU:0.5", "GPU:1,CPU:1", "x:1", "x:2,CPU:1", "memory:60", "CPU:9"})
	if p.r.IntN(4) == 0 {
		need += " env=e"
	}
	if p.r.IntN(3) == 0 {
		need += " else=" + pick(p.r, []string{"CPU:1", "x:1|CPU:0.5", "GPU:0.5|CPU:1"})
		if p.r.IntN(2) == 0 {
			need += " after=8"
		}
	}
	return need + fmt.Sprintf(" name=f%d", c)
}

// worker picks one of the workers of which something is true, 0: there is none.
func (p *inventor) worker(ok func(*worker) bool) WorkerID {
	var all []WorkerID
	for _, id := range slices.Sorted(maps.Keys(p.m.workers)) {
		if ok(p.m.workers[id]) {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return pick(p.r, all)
}

// ends lets some of the workers that start come up, and some that end leave.
func (p *inventor) ends() (lines []string) {
	if id := p.worker(func(w *worker) bool { return w.state == workerStarting }); id > 0 && p.r.IntN(2) == 0 {
		lines = append(lines, fmt.Sprintf("%s %d", pick(p.r, []string{"ready", "ready", "ready", "ready", "ready", "failed", "exit"}), id))
	}
	if id := p.worker(func(w *worker) bool { return w.leaves }); id > 0 && p.r.IntN(4) == 0 {
		lines = append(lines, fmt.Sprintf("exit %d", id))
	}
	return lines
}
