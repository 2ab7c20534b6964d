package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var module = map[string]string{
	"go.mod":         "module sample\n\ngo 1.26\n",
	"held/held.go":   "package held\n\nfunc Less(a, b int) bool { return a < b }\n",
	"held/h_test.go": "package held\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) {\n\tif Less(1, 1) || !Less(1, 2) {\n\t\tt.Fail()\n\t}\n}\n",
	"free/free.go":   "package free\n\nfunc Less(a, b int) bool { return a < b }\n",
	"free/f_test.go": "package free\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) { Less(1, 2) }\n",
	// Its only change does not compile: there is no text minus a text.
	"text/text.go":   "package text\n\nfunc Join(a, b string) string { return a + b }\n",
	"text/t_test.go": "package text\n\nimport \"testing\"\n\nfunc TestJoin(t *testing.T) { Join(\"a\", \"b\") }\n",
	// Its only change makes it wait for ever.
	"waits/waits.go":  "package waits\n\nfunc Wait(c chan int) { close(c) }\n",
	"waits/w_test.go": "package waits\n\nimport \"testing\"\n\nfunc TestWait(t *testing.T) {\n\tc := make(chan int)\n\tWait(c)\n\t<-c\n}\n",
	// Its only change makes it allocate for ever.
	"grows/grows.go":  "package grows\n\nfunc Done() bool { return true }\n",
	"grows/g_test.go": "package grows\n\nimport \"testing\"\n\nfunc TestGrow(t *testing.T) {\n\tvar kept [][]byte\n\tfor !Done() {\n\t\tkept = append(kept, make([]byte, 1<<24))\n\t\tclear(kept[len(kept)-1])\n\t}\n}\n",
	// Its test leaves a process in a session of its own behind.
	"leaves/leaves.go": "package leaves\n\nfunc Less(a, b int) bool { return a < b }\n",
	"leaves/l_test.go": "package leaves\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n\t\"strconv\"\n\t\"syscall\"\n\t\"testing\"\n)\n\n" +
		"func TestLess(t *testing.T) {\n\tLess(1, 2)\n\tcmd := exec.Command(\"sleep\", \"1000\")\n\tcmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}\n" +
		"\tif err := cmd.Start(); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tos.WriteFile(\"pid\", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)\n}\n",
	"red/red.go":    "package red\n\nfunc Less(a, b int) bool { return a < b }\n",
	"red/r_test.go": "package red\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) { t.Fail() }\n",
}

func lay(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range module {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	return root
}

// A small module has a change that its test notices, one that its test does
// not notice, and one that does not compile. Its sources stay as they are.
func TestMeasure_SmallModule_TellsWhatTheTestsNotice(t *testing.T) {
	root := lay(t)
	var told bytes.Buffer
	p := plan{seed: 1, n: 5, minutes: 10, root: root, groups: []group{
		{"held", []string{"held"}, 0.9}, {"free", []string{"free"}, 0.9}, {"text", []string{"text"}, 0.9},
	}}
	rates, err := measure(context.Background(), p, &told)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ tried, noticed int }{{1, 1}, {1, 0}, {0, 0}} {
		if r := rates[i]; r.tried != want.tried || r.noticed != want.noticed || len(r.survivors) != want.tried-want.noticed {
			t.Errorf("%s: %d of %d noticed, survivors %v", r.group.name, r.noticed, r.tried, r.survivors)
		}
	}
	if !rates[0].enough() || rates[1].enough() || rates[2].enough() {
		t.Error("who has tried nothing has shown nothing, who has noticed all has enough")
	}
	report(&told, rates)
	for _, line := range []string{
		"survived: free/free.go:3: < becomes <=", "1 of   1 changes noticed, 100.0 % (wanted 90 %): enough", "0.0 % (wanted 90 %): too few",
	} {
		if !strings.Contains(told.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, told.String())
		}
	}
	for name, text := range module {
		if b, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(b) != text {
			t.Errorf("%s is changed: %q, %v", name, b, err)
		}
	}
}

func TestMeasure_At_ThoseLinesOnly(t *testing.T) {
	both := []group{{"both", []string{"free", "held"}, 0.9}}
	p := plan{seed: 1, n: 9, minutes: 10, root: lay(t), groups: both, at: []string{"held/held.go:3", "free/free.go:2"}}
	rates, err := measure(context.Background(), p, new(bytes.Buffer))
	if err != nil || rates[0].tried != 1 || rates[0].noticed != 1 {
		t.Errorf("got %+v, %v", rates, err)
	}
}

// A change after which a test waits for ever is noticed by the limit.
func TestTry_TestsThatHang_Noticed(t *testing.T) {
	r := &runner{root: lay(t), scratch: t.TempDir(), bounds: ordinary}
	places, err := placesOf(filepath.Join(r.root, "waits"))
	if err != nil || len(places) != 1 {
		t.Fatal(places, err)
	}
	if got, err := r.try(context.Background(), "waits", places[0], time.Second); err != nil || got != noticed {
		t.Errorf("got %v, %v", got, err)
	}
}

// How long changed tests may take follows from the tests alone: compiling a
// package with cold caches takes much longer than its tests.
func TestPlain_TimeOfTheTestsWithoutCompiling(t *testing.T) {
	r := &runner{root: lay(t), scratch: t.TempDir(), bounds: ordinary}
	began := time.Now()
	took, err := r.plain(context.Background(), "held")
	whole := time.Since(began)
	if err != nil || took <= 0 || took > whole/2 {
		t.Errorf("the tests are said to take %v of %v, %v", took, whole, err)
	}
	if p := patience(took); p < took+5*time.Second || p > took+whole+5*time.Second {
		t.Errorf("changed tests may take %v where unchanged ones take %v", p, took)
	}
	for _, out := range []string{"", "ok  \tsample/held\t(cached)\n"} {
		if took, err := told([]byte(out)); err == nil {
			t.Errorf("%q tells %v", out, took)
		}
	}
}

func TestMeasure_TestsFailWithoutAChange_IsAnError(t *testing.T) {
	p := plan{seed: 1, n: 1, minutes: 10, root: lay(t), groups: []group{{"red", []string{"red"}, 0.9}}}
	_, err := measure(context.Background(), p, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "the unchanged tests of red fail") {
		t.Errorf("got %v", err)
	}
}
