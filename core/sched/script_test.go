package sched

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
)

var update = flag.Bool("update", false, "rewrite the expected traces")

// TestScripts runs testdata/*.txt: each line is an event, the indented lines
// after it are the actions that it must cause, in order.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(src))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(src) {
				t.Errorf("trace differs; run with -update and look at the change.\n--- got\n%s", got)
			}
		})
	}
}

func runScript(t *testing.T, src string) string {
	var out strings.Builder
	s := &script{t: t}
	sc := bufio.NewScanner(strings.NewReader(src))
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, l := range s.do(line) {
			fmt.Fprintln(&out, "  "+l)
		}
	}
	return out.String()
}

// script executes the lines of one file.
type script struct {
	t *testing.T
	m *Machine
}

func (s *script) do(line string) []string {
	words := strings.Fields(line)
	var args []int
	opts := make(map[string]string)
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		} else if n, err := strconv.Atoi(w); err == nil {
			args = append(args, n)
		} else {
			opts[w] = "true"
		}
	}
	arg := func(i int) int {
		if i >= len(args) {
			s.t.Fatalf("%q: too few arguments", line)
		}
		return args[i]
	}
	m := s.m
	switch words[0] {
	case "node":
		s.node(opts)
	case "job":
		m.AddJob(ids.JobOf(uint32(arg(0))), opts["env"])
	case "endjob":
		m.RemoveJob(ids.JobOf(uint32(arg(0))))
	case "client":
		m.AddClient(ClientID(arg(0)), ids.JobOf(uint32(arg(1))))
	case "gone":
		m.RemoveClient(ClientID(arg(0)))
	case "class":
		m.DefineClass(ClientID(arg(0)), s.class(ClassID(arg(1)), opts))
	case "retire":
		m.RetireClass(ClientID(arg(0)), ClassID(arg(1)))
	case "want":
		w := WantUpdate{N: arg(2)}
		if seen, err := strconv.Atoi(opts["seen"]); err == nil {
			w.Seen = uint64(seen) + 1
		}
		w.Due, _ = strconv.Atoi(opts["due"])
		if ms, err := strconv.Atoi(opts["next"]); err == nil {
			w.Next = time.Duration(ms) * time.Millisecond
		}
		m.UpdateWant(ClientID(arg(0)), ClassID(arg(1)), w)
	case "undelivered":
		m.Undelivered(Grant{Client: ClientID(arg(0)), Class: ClassID(arg(1)), Due: opts["due"] != ""})
	case "return":
		m.Return(ClientID(arg(0)), LeaseID(arg(1)), opts["exiting"] != "", opts["unusable"] != "")
	case "move":
		m.Move(ClientID(arg(0)), LeaseID(arg(1)), ClassID(arg(2)))
	case "block":
		m.Block(WorkerID(arg(0)))
	case "unblock":
		m.Unblock(WorkerID(arg(0)))
	case "ready":
		for _, w := range args {
			m.WorkerReady(WorkerID(w))
		}
	case "failed":
		m.WorkerFailed(WorkerID(arg(0)), "no module named zygote")
	case "leaving":
		m.Leaving(WorkerID(arg(0)))
	case "exit":
		for _, w := range args {
			m.WorkerGone(WorkerID(w))
		}
	case "actor":
		m.PlaceActor(actorNumber(arg(0)), ids.JobOf(uint32(arg(1))), s.class(0, opts), need(s.t, opts["run"]))
	case "cancel":
		m.CancelActor(actorNumber(arg(0)))
	case "time":
		m.Advance(time.Duration(arg(0)) * time.Millisecond)
	case "next":
		if at, ok := m.Next(); ok {
			return []string{at.String()}
		}
		return []string{"never"}
	case "explain":
		return []string{m.Explain(ClientID(arg(0)), ClassID(arg(1)))}
	case "explainactor":
		return []string{m.ExplainActor(actorNumber(arg(0)))}
	case "leases":
		var lines []string
		for _, l := range m.LeasesOf(ClientID(arg(0))) {
			lines = append(lines, fmt.Sprintf("lease %d on worker %d", l, m.WorkerOf(ClientID(arg(0)), l)))
		}
		return lines
	case "workerof":
		return []string{fmt.Sprint(m.WorkerOf(ClientID(arg(0)), LeaseID(arg(1))))}
	case "free":
		return []string{m.Free().String()}
	case "demands":
		var lines []string
		for _, d := range m.Demands() {
			lines = append(lines, fmt.Sprintf("%d %s %s", d.N, d.Name, d.Need))
		}
		return lines
	case "pending":
		return []string{fmt.Sprint(m.Pending())}
	default:
		s.t.Fatalf("unknown event %q", words[0])
	}
	var lines []string
	for _, a := range s.m.Actions() {
		lines = append(lines, a.String())
	}
	return lines
}

func (s *script) node(opts map[string]string) {
	devices := make(map[string][]string)
	if g := opts["gpus"]; g != "" {
		devices["GPU"] = strings.Split(g, ",")
	}
	l, err := resource.NewLedger(need(s.t, opts["totals"]), devices)
	if err != nil {
		s.t.Fatal(err)
	}
	n := func(name string, absent int) int {
		if v, err := strconv.Atoi(opts[name]); err == nil {
			return v
		}
		return absent
	}
	s.m = New(Options{Ledger: l, MaxIdle: n("idle", 2), MaxStarts: n("starts", 4), WaitForFit: opts["wait"] != ""})
}

// class reads need=…, env=…, name=…, else=CPU:2|CPU:1 (with elserun=… of an
// actor) and after=30 (milliseconds).
func (s *script) class(id ClassID, opts map[string]string) Class {
	c := Class{ID: id, Need: need(s.t, opts["need"]), Env: opts["env"], Name: opts["name"]}
	if opts["else"] != "" {
		run := strings.Split(opts["elserun"], "|")
		for i, text := range strings.Split(opts["else"], "|") {
			o := Choice{Need: need(s.t, text)}
			if opts["elserun"] != "" {
				o.Run = need(s.t, run[i])
			}
			c.Else = append(c.Else, o)
		}
	}
	if ms, err := strconv.Atoi(opts["after"]); err == nil {
		c.After = time.Duration(ms) * time.Millisecond
	}
	return c
}

// need reads CPU:1,GPU:0.5.
func need(t *testing.T, text string) resource.Set {
	s := make(resource.Set)
	for _, part := range strings.Split(text, ",") {
		name, v, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatal(err)
		}
		if s[name], err = resource.FromFloat(f); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func actorNumber(n int) (a ActorID) {
	a.Actor[0], a.Actor[1] = byte(n>>8), byte(n)
	a.Incarnation = 1
	return a
}
