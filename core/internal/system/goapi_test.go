package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/fault"
)

const root = "../../.."

// python returns an interpreter that has eagleray.
func python(t *testing.T) string {
	t.Helper()
	p := os.Getenv("EAGLERAY_PYTHON")
	if p == "" {
		p = filepath.Join(root, ".venv", "bin", "python")
	}
	p, err := filepath.Abs(p)
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command(p, "-c", "import eagleray._core").Run() != nil {
		t.Fatalf("%s has no eagleray: run `make dev`, or set EAGLERAY_PYTHON", p)
	}
	return p
}

// cluster starts one in a folder of its own, with more flags, and returns what
// connects to it.
func cluster(t *testing.T, flags ...string) core.Options {
	t.Helper()
	py := python(t)
	base, err := os.MkdirTemp("", "er") // short: the sockets' paths have a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	t.Setenv("EAGLERAY_TMPDIR", base)
	t.Setenv("EAGLERAY_PYTHON", py)
	t.Setenv("RAY_ADDRESS", "")
	bin := filepath.Join(root, "python", "eagleray", "_bin", "eagleray")
	if out, err := exec.Command(bin, append([]string{"start", "--head", "--num-cpus=2"}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("start: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(bin, "stop").CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
	mods := t.TempDir()
	code := "import numpy\n" +
		"def add(a, b): return a + b\n" +
		"def double(x): return x * 2\n" +
		"def boom(): raise ValueError('no good')\n" +
		"def sleep(s):\n  import time; time.sleep(s)\n" +
		"def odd(): return {1, 2}\n" +
		"def count(n, path=''):\n  try:\n    yield from range(n)\n    if n == 3: raise ValueError('no good')\n" +
		"  finally:\n    if path: open(path, 'w').close()\n" +
		"class Sum:\n" +
		"  def __init__(self, start): self.v = start\n" +
		"  def add(self, x): self.v += x; return self.v\n" +
		"  def steps(self, n):\n    for i in range(n): yield self.v + i\n"
	if err := os.WriteFile(filepath.Join(mods, "goapi_mod.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return core.Options{Python: py, PythonPath: []string{mods}}
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

func TestGoAPI_ValuesFunctionsActors(t *testing.T) {
	o := cluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	s := must[*core.Session](t)(core.Connect(ctx, o))
	defer s.Close()

	t.Run("values", func(t *testing.T) {
		v := map[string]any{"a": int64(1), "b": []any{"x", 2.5, nil, true}}
		double := must[*core.Function](t)(s.Function("goapi_mod:double", core.Call{}))
		back := must[map[string]any](t)(core.Get(ctx, must[*core.Ref[map[string]any]](t)(core.Put(ctx, s, v))))
		if len(back) != 2 {
			t.Fatal(back)
		}
		for _, x := range []any{21, "ab", 1.25} {
			ref := must[*core.Ref[any]](t)(core.Put(ctx, s, x))
			if got, err := core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, double, ref))); err != nil {
				t.Errorf("double(%v) = %v, %v", x, got, err)
			}
		}
		big := strings.Repeat("x", 1<<20) // through the arena, both ways
		got := must[string](t)(core.Get(ctx, must[*core.Ref[string]](t)(core.Submit[string](ctx, double, big))))
		if len(got) != 2<<20 {
			t.Fatal(len(got))
		}
	})
	t.Run("array", func(t *testing.T) {
		arange := must[*core.Function](t)(s.Function("numpy:arange", core.Call{}))
		ref := must[*core.Ref[core.NDArray]](t)(core.Submit[core.NDArray](ctx, arange, 1_000_000.0))
		a := must[core.NDArray](t)(core.Get(ctx, ref))
		view := must[[]float64](t)(core.Values[float64](a))
		if len(view) != 1_000_000 || view[999_999] != 999_999 {
			t.Fatal(len(view))
		}
		mine := must[core.NDArray](t)(core.NewNDArray([]float32{1, 2, 3}))
		double := must[*core.Function](t)(s.Function("goapi_mod:double", core.Call{}))
		back := must[core.NDArray](t)(core.Get(ctx, must[*core.Ref[core.NDArray]](t)(core.Submit[core.NDArray](ctx, double, must[*core.Ref[core.NDArray]](t)(core.Put(ctx, s, mine))))))
		if got := must[[]float32](t)(core.Values[float32](back)); got[2] != 6 {
			t.Fatal(got)
		}
	})
	t.Run("wait and order", func(t *testing.T) {
		sqrt := must[*core.Function](t)(s.Function("math:sqrt", core.Call{}))
		var refs []core.AnyRef
		for i := range 20 {
			refs = append(refs, must[*core.Ref[float64]](t)(core.Submit[float64](ctx, sqrt, float64(i))))
		}
		ready, rest, err := core.Wait(ctx, refs, 20)
		if err != nil || len(ready) != 20 || len(rest) != 0 {
			t.Fatal(len(ready), len(rest), err)
		}
		if v := must[float64](t)(core.Get(ctx, refs[9].(*core.Ref[float64]))); v != 3 || math.IsNaN(v) {
			t.Fatal(v)
		}
	})
	t.Run("actor", func(t *testing.T) {
		a := must[*core.Actor](t)(s.NewActor(ctx, "goapi_mod:Sum", core.Call{}, 10))
		var last *core.Ref[int]
		for i := range 5 {
			last = must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", i))
		}
		if v := must[int](t)(core.Get(ctx, last)); v != 20 {
			t.Fatal(v)
		}
		// What is no method is named with the class, whether it is missing or cannot be called.
		for name, want := range map[string]string{
			"v":    "'Sum' object has no method 'v': its attribute of that name is of type 'int', which cannot be called",
			"nope": "'Sum' object has no attribute 'nope'",
		} {
			_, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, name)))
			var remote *core.RemoteError
			if !errors.As(err, &remote) || remote.Class != "AttributeError" || remote.Message != want {
				t.Errorf("the method %s: %v, want %q", name, err, want)
			}
		}
		if v := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", 1)))); v != 21 {
			t.Errorf("after calls of what is no method the sum is %d, want 21", v)
		}
		if err := a.Kill(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", 1)))
		if fault.CodeOf(err) != fault.ActorDied {
			t.Fatal(err)
		}
	})
	t.Run("errors", func(t *testing.T) {
		boom := must[*core.Function](t)(s.Function("goapi_mod:boom", core.Call{}))
		_, err := core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, boom)))
		var remote *core.RemoteError
		if !errors.As(err, &remote) || remote.Class != "ValueError" || remote.Message != "no good" || !strings.Contains(remote.Traceback, "in boom") {
			t.Fatalf("%#v", err)
		}
		odd := must[*core.Function](t)(s.Function("goapi_mod:odd", core.Call{}))
		if _, err := core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, odd))); !errors.Is(err, core.ErrNotPlain) {
			t.Fatal(err)
		}
		never := must[*core.Function](t)(s.Function("goapi_mod:odd", core.Call{NumGPUs: 1}))
		if _, err := core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, never))); fault.CodeOf(err) != fault.TaskUnschedulable {
			t.Fatal(err)
		}
		number := must[*core.Function](t)(s.Function("math:pi", core.Call{}))
		for range 2 { // the worker does not take it for a function that it knows
			_, err := core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, number)))
			if want := "pi is not a function, so it cannot run as a task: it is of type 'float', which cannot be called"; !errors.As(err, &remote) || remote.Class != "TypeError" || remote.Message != want {
				t.Errorf("a task that is no function: %v", err)
			}
		}
		if _, err := s.Function("nocolon", core.Call{}); err == nil {
			t.Fatal("accepted")
		}
		if _, err := s.Function("a:b", core.Call{NumCPUs: -1}); err == nil {
			t.Fatal("accepted")
		}
	})
	t.Run("streams", func(t *testing.T) {
		count := must[*core.Function](t)(s.Function("goapi_mod:count", core.Call{ItemsAhead: 2}))
		items := must[*core.Items[int]](t)(core.Stream[int](ctx, count, 1000))
		want := 0
		for v, err := range items.All(ctx) {
			if err != nil || v != want {
				t.Fatal(v, err)
			}
			want++
		}
		if _, err := items.Next(ctx); want != 1000 || !errors.Is(err, io.EOF) {
			t.Fatal(want, err)
		}
		var got []any
		for v, err := range must[*core.Items[int]](t)(core.Stream[int](ctx, count, 3)).All(ctx) {
			var remote *core.RemoteError
			if errors.As(err, &remote) {
				got = append(got, remote.Class+": "+remote.Message)
				continue
			}
			got = append(got, v)
		}
		if fmt.Sprint(got) != "[0 1 2 ValueError: no good]" {
			t.Error(got)
		}
		closed := filepath.Join(t.TempDir(), "closed")
		items = must[*core.Items[int]](t)(core.Stream[int](ctx, count, 1000, closed))
		if v := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(items.Next(ctx)))); v != 0 {
			t.Error(v)
		}
		items.Close()
		for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(closed); err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal("the generator was not closed")
			}
		}
		a := must[*core.Actor](t)(s.NewActor(ctx, "goapi_mod:Sum", core.Call{}, 10))
		want = 10
		for v, err := range must[*core.Items[int]](t)(core.InvokeStream[int](ctx, a, "steps", 5)).All(ctx) {
			if err != nil || v != want {
				t.Fatal(v, err)
			}
			want++
		}
		if want != 15 {
			t.Error(want)
		}
		for _, ref := range []*core.Ref[any]{must[*core.Ref[any]](t)(core.Submit[any](ctx, count, 5)), must[*core.Ref[any]](t)(core.Invoke[any](ctx, a, "steps", 5))} {
			if _, err := core.Get(ctx, ref); err == nil || !strings.Contains(err.Error(), "core.Stream") {
				t.Error(err)
			}
		}
		double := must[*core.Function](t)(s.Function("goapi_mod:double", core.Call{}))
		ref := must[*core.Ref[int]](t)(must[*core.Items[int]](t)(core.Stream[int](ctx, double, 5)).Next(ctx))
		if _, err := core.Get(ctx, ref); err == nil || !strings.Contains(err.Error(), "must return a generator") {
			t.Error(err)
		}
	})
	t.Run("context", func(t *testing.T) {
		sleep := must[*core.Function](t)(s.Function("goapi_mod:sleep", core.Call{}))
		ref := must[*core.Ref[any]](t)(core.Submit[any](ctx, sleep, 30))
		short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		if _, err := core.Get(short, ref); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := ref.Cancel(ctx, true); err != nil {
			t.Fatal(err)
		}
		if _, err := core.Get(ctx, ref); err == nil {
			t.Fatal("the cancelled task returned")
		}
	})
}

func TestGoAPI_NoCluster_SaysSo(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	t.Setenv("RAY_ADDRESS", "")
	if _, err := core.Connect(context.Background(), core.Options{}); !errors.Is(err, core.ErrNoCluster) {
		t.Fatal(err)
	}
}

func TestGoExample_Runs(t *testing.T) {
	cluster(t)
	out, err := exec.Command("go", "run", root+"/examples/goservice").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "counted: 5") || !strings.Contains(string(out), "last element 999999") {
		t.Fatalf("%v\n%s", err, out)
	}
}
