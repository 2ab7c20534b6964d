package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rich has each kind of change, nested ones, ones in headers of statements,
// and ones that cannot be switched.
const rich = `package rich

import "time"

type Small uint8

var last *int

func Kinds(a, b int, s Small, name string, c chan int) (n int, d time.Duration, ok bool) {
	d = time.Duration(a)*2*time.Millisecond + time.Second
	if a+1 < b && (name == "x" || s > 254) {
		n++
	}
	var room [3]int
	room[2] = b -
		a
	if n = n + room[2]; n == 7 {
		last = nil
	}
	for i := 0; i < a && n < 100; i += 2 {
		n += int(s) / 2
	}
	select {
	case n = <-c:
	default:
	}
	defer close(c)
	return n, d, true
}

func Unseen(a int) int { return -a * 3 }
`

const richTest = `package rich

import (
	"testing"
	"time"
)

func TestKinds(t *testing.T) {
	c := make(chan int, 1)
	n, d, ok := Kinds(1, 3, 4, "x", c)
	if n != 5 || d != time.Second+2*time.Millisecond || !ok {
		t.Error(n, d, ok)
	}
}

func TestClosed(t *testing.T) {
	c := make(chan int, 1)
	c <- 50
	if n, _, _ := Kinds(2, 3, 4, "y", c); n < 5 {
		t.Error(n)
	}
	<-c
}
`

// verdicts gives the outcome of each place of a package, or of every nth.
func verdicts(t *testing.T, r *runner, s *subject, nth int) (all []string) {
	t.Helper()
	for i, c := range s.places {
		if i%nth != 0 {
			continue
		}
		got, err := r.try(context.Background(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d: %s: %v", c.line, c.what, got))
	}
	return all
}

// Whether a change is chosen in the program that has all changes, or compiled
// by itself, the tests make the same of it. With no change on all tests pass.
func TestTry_AllChangesInOneProgram_SameVerdictsAsOneByOne(t *testing.T) {
	r := sampleRunner(t)
	put(t, r.root, map[string]string{"rich/rich.go": rich, "rich/r_test.go": richTest})
	s := ready(t, r, "rich")
	if len(s.tests) != 2 {
		t.Errorf("only %v pass without a change", s.tests)
	}
	for i := range s.slow {
		if what := s.places[i].what; what != "assignment dropped: n = <-c" && what != "2 becomes 3" {
			t.Errorf("line %d: %q is compiled by itself", s.places[i].line, what)
		}
	}
	together := verdicts(t, r, s, 1)
	r.apart = true
	for _, apart := range verdicts(t, r, s, 2) {
		if !slices.Contains(together, apart) {
			t.Errorf("compiled by itself %s, together\n%s", apart, strings.Join(together, "\n"))
		}
	}
	for _, want := range []string{
		"10: * becomes /: 0", "11: + becomes -: 1", "15: 2 becomes 3: 3", "15: - becomes +: 0", "18: assignment dropped: last = nil: 2", "20: assignment dropped: i += 2: 0",
		"27: skipped: defer close(c): 0", "28: returns false for true: 0", "31: * becomes /: 2", "31: 3 becomes 4: 2",
	} {
		if !slices.Contains(together, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(together, "\n"))
		}
	}
}

// A place that only a process reaches which the test starts, without any
// variable of its own, is known to be reached, and is changed there.
func TestTry_PlaceInAChildProcess_IsChangedThere(t *testing.T) {
	r := sampleRunner(t)
	put(t, r.root, map[string]string{
		"child/child.go": "package child\n\nfunc Answer() int { return 41 }\n",
		"child/c_test.go": `package child

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "child" {
		os.Stdout.WriteString(strconv.Itoa(Answer()))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAnswer(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env = []string{"child"}, []string{}
	if out, err := cmd.Output(); string(out) != "41" || err != nil {
		t.Errorf("%s, %v", out, err)
	}
}
`})
	s := ready(t, r, "child")
	if got := verdicts(t, r, s, 1); !slices.Equal(got, []string{"3: 41 becomes 42: 0"}) {
		t.Errorf("got %v", got)
	}
}

// put writes files below a folder.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRewrite_NestedRanges_OuterTextsEncloseInnerOnes(t *testing.T) {
	//                0123456789
	source := []byte("a+b < c;d")
	got := rewrite(source, []edit{
		{start: 0, end: 7, before: "L(", after: ")", call: true},
		{start: 1, end: 2, instead: ","},
		{start: 4, end: 5, instead: ","},
		{start: 0, end: 3, before: "A(", after: ")", call: true},
		{start: 0, end: 7, before: "!(", after: ")"},
		{start: 7, end: 8, before: "[", after: "]"},
		{start: 8, end: 9, instead: "e"},
	})
	if want := "!(L(A(a,b) , c))[;]e"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBlamed_LineOfAnErrorOrTheNextAbove(t *testing.T) {
	files := map[string][]byte{"/m/p/a.go": []byte("x\nif mutantOn(3) != (mutantNumber[mutantType0](14, 1, 2) > 0) {\n}\ny\n")}
	for printed, want := range map[string][]int{
		"# m/p\np/a.go:2:5: bad\np/a.go:2:9: worse\n": {3, 14}, "/tmp/mu1/a.go:4:1: bad": {3, 14}, "p/a.go:1:1: bad": nil, "p/b.go:2:1: bad": nil,
	} {
		if got := blamed([]byte(printed), "/m/p", files); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", printed, got, want)
		}
	}
}

func TestBatches_EachAboutFourTimesAsLong(t *testing.T) {
	var tests []test
	for i := range 12 {
		tests = append(tests, test{fmt.Sprint(i), time.Duration(i) * 200 * time.Millisecond})
	}
	var got []int
	for _, set := range batches(tests) {
		got = append(got, len(set))
	}
	if !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("got sets of %v tests", got)
	}
}

// All tests are wanted, those that reach the place first and each once.
func TestAhead_SomeThenTheOthers(t *testing.T) {
	all := []test{{name: "a"}, {name: "b"}, {name: "c"}}
	if got := ahead(all[1:2], all); !slices.Equal(got, []test{{name: "b"}, {name: "a"}, {name: "c"}}) || all[2].name != "c" {
		t.Errorf("got %v of %v", got, all)
	}
}
