package raftlog

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// registrar is the variable that makes the test's own program the head of a directory, which registers actors until it is killed.
const registrar = "EAGLERAY_TEST_REGISTRAR"

// kills is how often the head is killed.
const kills = 100

// Each head tells its parent what was acknowledged; the last one has all of it.
func TestKill_HundredTimes_NothingAcknowledgedIsLost(t *testing.T) {
	if dir := os.Getenv(registrar); dir != "" {
		register(t, dir)
		return
	}
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	var job, node int
	for round := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), registrar+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The kill comes after some acknowledgements of this round, so it hits every phase of a commit.
		left, lines := 1+rand.IntN(120), bufio.NewScanner(out)
		for lines.Scan() {
			kind, rest, _ := strings.Cut(lines.Text(), " ")
			switch kind {
			case "actor":
				acknowledged[rest] = true
				left--
			case "job":
				n, err := strconv.Atoi(rest)
				if err != nil || n != job+1 {
					t.Errorf("round %d: the job has number %s, and the one before has %d", round, rest, job)
				}
				job = n
			case "nodes":
				if n, err := strconv.Atoi(rest); err != nil || n < node {
					t.Errorf("round %d: there are %s nodes, and there were %d", round, rest, node)
				} else {
					node = n
				}
			case "PASS", "ok":
				t.Fatalf("round %d: the head ended by itself", round)
			default:
				t.Errorf("round %d: the head says %q", round, lines.Text())
			}
			if left == 0 {
				_ = cmd.Process.Kill()
				left--
			}
		}
		_ = cmd.Wait() // it was killed
		if left > 0 {
			t.Fatalf("round %d: the head ended by itself", round)
		}
	}
	n := lead(t, open(t, dir, Options{Log: quiet}))
	for id := range acknowledged {
		var b ids.Actor
		if n, err := hex.Decode(b[:], []byte(id)); err != nil || n != len(b) {
			t.Fatalf("actor %q: %v", id, err)
		}
		a, ok := n.Actor(b)
		if !ok || a.Name != "of "+id || a.State != record.ActorPending {
			t.Errorf("actor %s is lost: %+v", id, a)
		}
		if named, ok := n.ActorNamed("kill", a.Name); !ok || named.ID != b {
			t.Errorf("the name %q leads to %+v", a.Name, named.ID)
		}
	}
	if got := len(n.ListJobs()); got < min(kills, 1000) {
		t.Errorf("%d jobs are left of %d", got, kills)
	}
	t.Logf("%d acknowledged actors, %d jobs, %d nodes", len(acknowledged), job, node)
}

// register registers actors from several goroutines, and prints each when it is acknowledged.
func register(t *testing.T, dir string) {
	n := lead(t, open(t, dir, Options{Log: quiet}))
	ctx := context.Background()
	if err := n.RegisterNode(ctx, record.Node{ID: ids.NewNode()}); err != nil {
		t.Fatal(err)
	}
	job, err := n.StartJob(ctx, record.Job{Entrypoint: "test", Driver: ids.NewWorkerOn(1).Owner()})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(os.Stdout, fmt.Sprintf(format+"\n", args...))
	}
	say("nodes %d", len(n.ListNodes()))
	say("job %d", binary.BigEndian.Uint32(job[:]))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for begun := time.Now(); time.Since(begun) < time.Minute; { // if the parent is gone
				id := ids.NewActor(job)
				err := n.RegisterActor(ctx, record.Actor{ID: id, Job: job, Name: "of " + id.String(), Namespace: "kill", Detached: true, Spec: make([]byte, 500)})
				if err != nil {
					if !errors.Is(err, record.ErrClosed) {
						t.Error(err)
					}
					return
				}
				say("actor %s", id)
			}
		})
	}
	all.Wait()
}
