package workers

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// A batch ends with the line that fills it, and a driver that has just room gets one.
func TestSink_Batches_AreFilledAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		unsent := maxUnsent - 1
		s := NewSink(func(ls []wire.LogLine) { sizes = append(sizes, len(ls)) }, func() int { return unsent })
		text := strings.Repeat("x", 1<<10)
		each := lineBytes(&wire.LogLine{Text: text})
		text = text[:1<<10-(each-1<<10)] // a line is 1 KiB, so 1024 of them are a batch
		s.Add(slices.Repeat([]wire.LogLine{{Text: text}}, 2*maxBatchBytes>>10+1))
		s.Flush(time.Minute)
		if want := []int{1024, 1024, 1}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v lines, want %v", sizes, want)
		}
		if s.bytes != 0 || s.lines != nil || s.running {
			t.Errorf("%d bytes, %d lines are left", s.bytes, len(s.lines))
		}
		s.Add(nil)
		if s.running {
			t.Error("it runs for nothing")
		}
		s.Close()
		s.Add([]wire.LogLine{{Text: "late"}})
		if len(s.lines) != 0 {
			t.Error("a closed one takes lines")
		}
	})
}

// As much as the bound is kept, and one byte more drops the oldest line.
func TestSink_Full_DropsOneLineForOneByte(t *testing.T) {
	for _, c := range []struct{ more, dropped int }{{0, 0}, {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var got []wire.LogLine
			unsent := maxUnsent
			s := NewSink(func(ls []wire.LogLine) { got = append(got, ls...) }, func() int { return unsent })
			empty := lineBytes(&wire.LogLine{})
			half := wire.LogLine{Text: strings.Repeat("x", maxSinkBytes/2-empty)}
			s.Add([]wire.LogLine{half, half})
			if c.more > 0 {
				s.mu.Lock()
				s.lines[1].Text += "y"
				s.bytes++
				s.mu.Unlock()
				s.Add([]wire.LogLine{})
				half.Text = half.Text[:0]
				s.Add([]wire.LogLine{half})
			}
			s.mu.Lock() // the sink asks what is unsent under it
			unsent = 0
			s.mu.Unlock()
			s.Flush(time.Minute)
			s.mu.Lock()
			defer s.mu.Unlock()
			told := len(got) > 0 && strings.HasPrefix(got[0].Text, fmt.Sprintf("%d lines of output were dropped", c.dropped))
			if told != (c.dropped > 0) || s.bytes != 0 {
				t.Errorf("%d bytes more: %d lines, the first %.40q; %d bytes stay", c.more, len(got), got[0].Text, s.bytes)
			}
		})
	}
}

// A line of just the bound is one line, whether it comes at once or in parts.
func TestSplitter_LongestLine_IsNotCut(t *testing.T) {
	whole := strings.Repeat("x", maxLine)
	for _, parts := range [][]string{{whole + "\n"}, {whole, "\n"}, {whole[:10], whole[10:], "\n"}, {whole[:10], whole[10:] + "\n"}} {
		if got := split(parts...); len(got) != 1 || got[0] != whole {
			t.Errorf("%d parts give %d lines", len(parts), len(got))
		}
	}
	for _, parts := range [][]string{{whole + "y\n"}, {whole, "y\n"}, {whole[:10], whole[10:] + "y\n"}, {whole[:10], whole[10:] + "y", "\n"}} {
		if got := split(parts...); len(got) != 2 || got[0] != whole || got[1] != "y" {
			t.Errorf("%d parts give %d lines", len(parts), len(got))
		}
	}
	latest := ""
	s := splitter{latest: &latest}
	s.add(nil, []byte(strings.Repeat("x", 1<<10+1)))
	if s.add(nil, []byte("\n")); s.partial != nil {
		t.Error("the memory of a long line is kept")
	}
}

func TestNumber_AsTheKernelWrites(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "7": 7, "-1": -1, "123456789012345678": 123456789012345678, "-90": -90} {
		if n, ok := number([]byte(text)); !ok || n != want {
			t.Errorf("%s gives %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "1234567890123456789", "1a", "/", ":", "--1", "+1"} {
		if n, ok := number([]byte(text)); ok {
			t.Errorf("%q gives %d", text, n)
		}
	}
}

func TestDescendantsOf_LivingOnesOfAllGenerations(t *testing.T) {
	ps := []ProcStat{{Pid: 2, PPid: 1}, {Pid: 3, PPid: 2}, {Pid: 4, PPid: 3, State: 'Z'}, {Pid: 5, PPid: 4}, {Pid: 6, PPid: 9}, {Pid: 7, PPid: 3, State: 'X'}, {Pid: 8, PPid: 3}, {Pid: 1}}
	if got := DescendantsOf(1, ps); !slices.Equal(got, []int{2, 3, 8}) {
		t.Errorf("got %v", got)
	}
	if got := DescendantsOf(3, ps); !slices.Equal(got, []int{8}) {
		t.Errorf("got %v", got)
	}
}

// Workers are the kernel's first choice when it has no memory left, as much as
// the environment says; what a child has inherited of the daemon's protection goes.
func TestScores_WorkersFirst(t *testing.T) {
	score := func(pid int) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	t.Setenv("EAGLERAY_worker_oom_score_adjustment", "")
	t.Setenv("RAY_worker_oom_score_adjustment", "")
	for _, c := range []struct{ ours, rays, want string }{{"", "", "1000"}, {"", "800", "800"}, {"900", "800", "900"}} {
		t.Setenv("EAGLERAY_worker_oom_score_adjustment", c.ours)
		t.Setenv("RAY_worker_oom_score_adjustment", c.rays)
		pid := sleeper(t)
		if Offer(pid); score(pid) != c.want {
			t.Errorf("with %q and %q a worker has %s, want %s", c.ours, c.rays, score(pid), c.want)
		}
	}
	was := before
	defer func() { before = was }()
	pid := sleeper(t)
	at := score(pid)
	before = ""
	if Unspare(pid); score(pid) != at {
		t.Errorf("an unprotected daemon's child has %s, not %s", score(pid), at)
	}
	before = "950"
	if Unspare(pid); score(pid) != "950" {
		t.Errorf("a protected daemon's child has %s, want what the daemon had", score(pid))
	}
	if got := readScore(); got != score(os.Getpid()) {
		t.Errorf("this process has %q", got)
	}
}

// Variables that only the zygote may set, that exec cannot pass and that are too
// large for it are left out; those of the specification win.
func TestMergedEnv_WhatExecTakes(t *testing.T) {
	large := strings.Repeat("x", maxExecVar)
	got := mergedEnv(&wire.EnvSpec{
		JobEnv: map[string]string{"A": "job", "B": "job", jobVar: "x", sessionVar: "x", "bad=name": "x", "": "x", "NUL": "a\x00", "LARGE": large},
		Env:    map[string]string{"B": "spec", "C": large[1:], "D": large, jobVar: "x", sessionVar: "x", "N\x00": "x"},
	}, nil)
	want := []string{"A=job", "B=spec", "C=" + large[1:], "LARGE=" + large}
	if !slices.Equal(got, want) {
		t.Errorf("got %.30q, want %.30q", got, want)
	}
	for name, ok := range map[string]bool{"A": true, "": false, "A=": false, "\x00": false} {
		if validVar(name, "v") != ok {
			t.Errorf("%q", name)
		}
	}
}

func TestTail_KeepsTheEnd_InWholeLines(t *testing.T) {
	var k tail
	k.add([]byte("first\n" + namePrefix + "name\n\n"))
	k.add([]byte("second\n"))
	if got := k.String(); got != "first\n\nsecond" {
		t.Errorf("got %q", got)
	}
	k.add([]byte(strings.Repeat("x", tailBytes-7)))
	if got := k.String(); got != "second\n"+strings.Repeat("x", tailBytes-7) {
		t.Errorf("the last %d bytes are %q…", tailBytes, got[:20])
	}
	for range 5 {
		if k.add([]byte(strings.Repeat("y", tailBytes))); len(k.b) > 2*tailBytes {
			t.Fatalf("%d bytes are kept", len(k.b))
		}
	}
	if got := k.String(); got != strings.Repeat("y", tailBytes) {
		t.Errorf("%d bytes are shown", len(got))
	}
	k = tail{}
	k.add(make([]byte, 2*tailBytes))
	if len(k.b) != 2*tailBytes {
		t.Errorf("%d bytes are kept of as many as there is room for", len(k.b))
	}
}

func TestValidVar_WhatExecTakes(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"A", "b=c", true}, {"A", "", true}, {"", "b", false}, {"A=B", "c", false}, {"A\x00", "c", false}, {"A", "b\x00", false}} {
		if validVar(c.name, c.value) != c.want {
			t.Errorf("%q=%q: got %v", c.name, c.value, !c.want)
		}
	}
	if orEmpty(nil) == nil || len(orEmpty([]string{"a"})) != 1 {
		t.Error("a list that is nil is told as none")
	}
}

// sleeper starts a process that the test ends.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// testLimit is how long tests wait for what must come. It only tells a test that hangs from one that is slow.
const testLimit = await.Limit
