package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	// Its test fails in its first run.
	"once/once.go":   "package once\n\nfunc Less(a, b int) bool { return a < b }\n",
	"once/o_test.go": "package once\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestLess(t *testing.T) {\n\t_, err := os.Stat(\"was\")\n\tos.WriteFile(\"was\", nil, 0o600)\n\tif err != nil || Less(1, 1) {\n\t\tt.Fail()\n\t}\n}\n",
	"red/red.go":     "package red\n\nfunc Less(a, b int) bool { return a < b }\n",
	"red/r_test.go":  "package red\n\nimport \"testing\"\n\nfunc TestLess(t *testing.T) { t.Fail() }\n",
}

func lay(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, module)
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

func TestMeasure_Files_ThoseOnly(t *testing.T) {
	both := []group{{"both", []string{"free", "held"}, 0.9}}
	p := plan{seed: 1, n: 9, minutes: 10, root: lay(t), groups: both, files: []string{"free/free.go", "held/other.go"}}
	rates, err := measure(context.Background(), p, new(bytes.Buffer))
	if err != nil || rates[0].tried != 1 || rates[0].noticed != 0 {
		t.Errorf("got %+v, %v", rates, err)
	}
}

// ready prepares a package of the small module.
func ready(t *testing.T, r *runner, pkg string) *subject {
	t.Helper()
	s, err := r.prepare(context.Background(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleRunner(t *testing.T) *runner {
	t.Helper()
	return &runner{root: lay(t), scratch: t.TempDir(), bounds: ordinary, w: io.Discard}
}

// A change after which a test waits for ever is noticed by the limit.
func TestTry_TestsThatHang_Noticed(t *testing.T) {
	r := sampleRunner(t)
	s := ready(t, r, "waits")
	if len(s.places) != 1 {
		t.Fatal(s.places)
	}
	if got, err := r.try(context.Background(), s, s.places[0]); err != nil || got != noticed {
		t.Errorf("got %v, %v", got, err)
	}
}

// One package cannot be measured. The error says so, and what was measured of
// the others is there.
func TestMeasure_TestsFailWithoutAChange_OthersAreMeasured(t *testing.T) {
	var told bytes.Buffer
	p := plan{seed: 1, n: 2, minutes: 10, root: lay(t), groups: []group{{"both", []string{"red", "held"}, 0.9}}}
	rates, err := measure(context.Background(), p, &told)
	if err == nil || !strings.Contains(err.Error(), "unchanged tests of red: each of 1 fails") {
		t.Errorf("got %v", err)
	}
	if len(rates) != 1 || rates[0].tried != 1 || rates[0].noticed != 1 {
		t.Errorf("got %+v", rates)
	}
	for _, line := range []string{"left out: TestLess of red fails without a change", "given up: red: "} {
		if strings.Count(told.String(), line) != 1 {
			t.Errorf("%q is not told once:\n%s", line, told.String())
		}
	}
}

// The test fails in its first run, as a test does that something on the
// machine holds up. It is tried again, so the package is measured.
func TestRecord_TestFailsOnce_IsTriedAgain(t *testing.T) {
	r := sampleRunner(t)
	var told bytes.Buffer
	r.w = &told
	s := ready(t, r, "once")
	if len(s.tests) != 1 || !strings.Contains(told.String(), "not steady: TestLess of once failed once") {
		t.Fatalf("the tests are %v, told is %q", s.tests, told.String())
	}
	if got, err := r.try(context.Background(), s, s.places[0]); err != nil || got != noticed {
		t.Errorf("got %v, %v", got, err)
	}
}
