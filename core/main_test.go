package core_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

// modules is what the tests' workers can import.
const modules = `
import datetime, os, time
import numpy
import eagleray as ray

def add(a, b=1): return a + b
def same(x): return x
def kind(x): return f"{type(x).__module__}.{type(x).__qualname__}"
def show(x): return repr(x)
def boom(text="no good"): raise ValueError(text)
def sleep(s): time.sleep(s)
def evaluate(text): return eval(text)
def holds(text, x): return bool(eval(text, {"numpy": numpy, "x": x}))
def holds_inside(text, x): return holds(text, x[0])
def many(*values): return values
def variable(name): return os.environ.get(name)
def folder(): return os.getcwd()
def count(n):
    for i in range(n): yield i
def nested(x): return ray.get(x["ref"]) + sum(ray.get(r) for r in x["list"])
def put_all(values): return [ray.put(v) for v in values]
def total(x): return float(x["a"]["array"].sum()), x["a"]["array"].flags.writeable
def describe_array(a): return [a.dtype.str, list(a.shape), a.flags.f_contiguous, a.tolist()]
def fails_at_first(path):
    if not os.path.exists(path):
        open(path, "w").close()
        raise OSError("not yet")
    return "done"
def inner():
    return ray.get(ray.remote(lambda: os.environ.get("EAGLERAY_TEST_INNER")).remote())

class Counter:
    def __init__(self, start=0): self.n = start
    def add(self, x=1, *, times=1):
        self.n += x * times
        return self.n
    def pair(self): return self.n, str(self.n)
    def die(self, path):
        if not os.path.exists(path):
            open(path, "w").close()
            os._exit(1)
        return "alive"
    def fails_at_first(self, path): return fails_at_first(path)
    def steps(self, n):
        for i in range(n): yield self.n + i
    def sleep(self, s): time.sleep(s)

class Broken:
    def __init__(self): raise KeyError("no such thing")
    def add(self): return 1

def make_named(name):
    made = ray.remote(Counter).options(name=name, namespace="shop", lifetime="detached", max_pending_calls=100).remote(10)
    ray.get(made.add.remote(0))
def call_named(name, namespace):
    return ray.get(ray.get_actor(name, namespace).add.remote(5))
`

const root = ".."

var (
	folder string       // of everything that the tests write
	binary string       // the daemon
	opts   core.Options // for the common cluster
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	fail := func(what string, err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		return 1
	}
	python := os.Getenv("EAGLERAY_PYTHON")
	if python == "" {
		python = filepath.Join(root, ".venv", "bin", "python")
	}
	python, err := filepath.Abs(python)
	if err != nil {
		return fail("the interpreter", err)
	}
	if err := exec.Command(python, "-c", "import eagleray._core").Run(); err != nil {
		return fail(python+" has no eagleray: run `make dev`, or set EAGLERAY_PYTHON", err)
	}
	if folder, err = os.MkdirTemp("", "er"); err != nil { // short: the sockets' paths have a limit
		return fail("a folder", err)
	}
	defer os.RemoveAll(folder)
	for name, text := range map[string]string{"EAGLERAY_TMPDIR": folder, "EAGLERAY_PYTHON": python, "RAY_ADDRESS": "", "EAGLERAY_ADDRESS": "", "PYTHONPATH": folder} {
		if err := os.Setenv(name, text); err != nil {
			return fail("set "+name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "shop.py"), []byte(modules), 0o600); err != nil {
		return fail("the tests' module", err)
	}
	binary = filepath.Join(folder, "eagleray")
	if out, err := exec.Command("go", "build", "-o", binary, root+"/cmd/eagleray").CombinedOutput(); err != nil {
		return fail("build the daemon: "+string(out), err)
	}
	if out, err := exec.Command(binary, "start", "--head", "--num-cpus=4", "--resources={\"slot\": 3}", "--object-store-memory=400000000").CombinedOutput(); err != nil {
		return fail("start: "+string(out), err)
	}
	defer func() {
		if out, err := exec.Command(binary, "stop").CombinedOutput(); err != nil && code == 0 {
			code = fail("stop: "+string(out), err)
		}
	}()
	opts = core.Options{Namespace: "tests"}
	return m.Run()
}

// cluster starts one for the test alone and returns its options.
func cluster(t *testing.T, flags ...string) core.Options {
	t.Helper()
	base, err := os.MkdirTemp("", "er")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	t.Setenv("EAGLERAY_TMPDIR", base)
	if out, err := exec.Command(binary, append([]string{"start", "--head", "--num-cpus=2"}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("start: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		cmd := exec.Command(binary, "stop")
		cmd.Env = append(os.Environ(), "EAGLERAY_TMPDIR="+base)
		if out, err := cmd.CombinedOutput(); err != nil && !t.Failed() {
			t.Logf("stop: %v\n%s", err, out) // the test may have ended the daemon
		}
	})
	link, err := os.ReadFile(filepath.Join(base, fmt.Sprintf("eagleray-%d", os.Getuid()), "current"))
	if err != nil {
		t.Fatal(err)
	}
	return core.Options{Address: strings.TrimSpace(string(link)), Namespace: "tests"}
}

// limit bounds every wait of these tests.
const limit = 60 * time.Second

// join connects to a cluster for one test.
func join(t *testing.T, o core.Options) (context.Context, *core.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	s, err := core.Connect(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return ctx, s
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// call runs a function of the tests' module and returns its result.
func call[T any](t *testing.T, ctx context.Context, s *core.Session, name string, args ...any) (v T, err error) {
	t.Helper()
	f, err := s.Function("shop:"+name, core.Call{})
	if err != nil {
		return v, err
	}
	r, err := core.Submit[T](ctx, f, args...)
	if err != nil {
		return v, err
	}
	return core.Get(ctx, r)
}
