package core_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core"
)

// An exception of Python code is an error with its class, message and traceback.
func TestRemoteError_ClassMessageTraceback(t *testing.T) {
	ctx, s := join(t, opts)
	_, err := call[any](t, ctx, s, "boom", "line one: x\nline two")
	var e *core.RemoteError
	if !errors.As(err, &e) || e.Class != "ValueError" || e.Message != "line one: x\nline two" || e.Function != "boom" || !strings.Contains(e.Traceback, "in boom") {
		t.Fatalf("%#v", err)
	}
	if core.CodeOf(err) != "exception" || errors.Is(err, core.ErrActorDied) || !strings.Contains(err.Error(), "boom raised ValueError: line one: x") {
		t.Errorf("%v has the code %s", err, core.CodeOf(err))
	}
	broken := must[*core.Actor](t)(s.NewActor(ctx, "shop:Broken", core.Call{}))
	ref := must[*core.Ref[int]](t)(core.Invoke[int](ctx, broken, "add"))
	if _, err = core.Get(ctx, ref); !errors.As(err, &e) || e.Class != "KeyError" || !errors.Is(err, core.ErrActorDied) || core.CodeOf(err) != "actor_died" {
		t.Errorf("a constructor's exception: %v", err)
	}
	function := must[*core.Actor](t)(s.NewActor(ctx, "shop:same", core.Call{}, 1))
	ref = must[*core.Ref[int]](t)(core.Invoke[int](ctx, function, "add"))
	if _, err = core.Get(ctx, ref); !errors.Is(err, core.ErrActorDied) || !strings.Contains(err.Error(), "same is not a class, so it cannot become an actor") {
		t.Errorf("an actor of a function: %v", err)
	}
	if _, err := call[any](t, ctx, s, "no_such_function"); err == nil || !strings.Contains(err.Error(), "no_such_function") {
		t.Errorf("a function that is not there: %v", err)
	}
	ref = must[*core.Ref[int]](t)(core.Submit[int](ctx, must[*core.Function](t)(s.Function("shop:boom", core.Call{}))))
	if _, err := call[any](t, ctx, s, "same", ref); !errors.As(err, &e) || e.Class != "ValueError" {
		t.Errorf("the exception of an argument: %v", err)
	}
	never := must[*core.Function](t)(s.Function("shop:same", core.Call{NumGPUs: 8}))
	_, err = core.Get(ctx, must[*core.Ref[int]](t)(core.Submit[int](ctx, never, 1)))
	if !errors.Is(err, core.ErrUnschedulable) {
		t.Errorf("more GPUs than there are: %v", err)
	}
}

func TestKwargsAndSeveralResults(t *testing.T) {
	ctx, s := join(t, opts)
	if got, err := call[int](t, ctx, s, "add", 1, core.Kwargs{"b": 5}); err != nil || got != 6 {
		t.Errorf("a keyword argument: %v, %v", got, err)
	}
	five := must[*core.Ref[int]](t)(core.Put(ctx, s, 5))
	if got, err := call[int](t, ctx, s, "add", core.Kwargs{"a": 1, "b": five}); err != nil || got != 6 {
		t.Errorf("a reference as a keyword argument: %v, %v", got, err)
	}
	a := must[core.NDArray](t)(core.NewNDArray([]int64{1, 2}))
	if got, err := call[core.NDArray](t, ctx, s, "add", a, core.Kwargs{"b": five}); err != nil || got.Len() != 2 {
		t.Errorf("an array and a reference: %v, %v", got, err)
	}
	if _, err := call[int](t, ctx, s, "add", core.Kwargs{"b": 5}, 1); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("keyword arguments that are not last: %v", err)
	}
	many := must[*core.Function](t)(s.Function("shop:many", core.Call{NumReturns: 3}))
	refs := must[[]*core.Ref[any]](t)(core.SubmitMany[any](ctx, many, 1, "b", 2.5))
	if got, err := core.GetAll(ctx, refs); err != nil || !reflect.DeepEqual(got, []any{int64(1), "b", 2.5}) {
		t.Errorf("three results: %v, %v", got, err)
	}
	if got, err := core.Get(ctx, core.As[string](refs[1])); err != nil || got != "b" {
		t.Errorf("the second result: %v, %v", got, err)
	}
	if _, err := core.Submit[any](ctx, many, 1); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "SubmitMany") {
		t.Errorf("Submit of a function with three results: %v", err)
	}
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}, core.Kwargs{"start": 4}))
	pair := must[[]*core.Ref[any]](t)(core.InvokeMany[any](ctx, actor, "pair", 2))
	if got, err := core.GetAll(ctx, pair); err != nil || !reflect.DeepEqual(got, []any{int64(4), "4"}) {
		t.Errorf("two results of a method: %v, %v", got, err)
	}
	if got, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, actor, "add", 2, core.Kwargs{"times": 3}))); err != nil || got != 10 {
		t.Errorf("a method's keyword argument: %v, %v", got, err)
	}
}

func TestRetries_ExceptionsAndCrashes(t *testing.T) {
	ctx, s := join(t, opts)
	once := filepath.Join(t.TempDir(), "once")
	f := must[*core.Function](t)(s.Function("shop:fails_at_first", core.Call{RetryExceptions: true}))
	if got, err := core.Get(ctx, must[*core.Ref[string]](t)(core.Submit[string](ctx, f, once))); err != nil || got != "done" {
		t.Errorf("a function that raises at first: %v, %v", got, err)
	}
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{MaxRestarts: 1, MaxTaskRetries: 1, RetryExceptions: true}))
	if got, err := core.Get(ctx, must[*core.Ref[string]](t)(core.Invoke[string](ctx, actor, "die", filepath.Join(t.TempDir(), "died")))); err != nil || got != "alive" {
		t.Errorf("a method that ends its process at first: %v, %v", got, err)
	}
	if got, err := core.Get(ctx, must[*core.Ref[string]](t)(core.Invoke[string](ctx, actor, "fails_at_first", filepath.Join(t.TempDir(), "raised")))); err != nil || got != "done" {
		t.Errorf("a method that raises at first: %v, %v", got, err)
	}
	plain := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}))
	if _, err := core.Get(ctx, must[*core.Ref[string]](t)(core.Invoke[string](ctx, plain, "die", filepath.Join(t.TempDir(), "died")))); !errors.Is(err, core.ErrActorDied) {
		t.Errorf("a method that ends its process, without retries: %v", err)
	}
}

func TestRuntimeEnv_VariablesFolderModules(t *testing.T) {
	ctx, s := join(t, opts)
	dir := t.TempDir()
	run := func(path string, r *core.RuntimeEnv, args ...any) (any, error) {
		f, err := s.Function(path, core.Call{RuntimeEnv: r})
		if err != nil {
			return nil, err
		}
		return core.Get(ctx, must[*core.Ref[any]](t)(core.Submit[any](ctx, f, args...)))
	}
	r := &core.RuntimeEnv{EnvVars: map[string]string{"EAGLERAY_TEST_INNER": "yes"}, WorkingDir: dir}
	if got, err := run("shop:variable", r, "EAGLERAY_TEST_INNER"); err != nil || got != "yes" {
		t.Errorf("a variable: %v, %v", got, err)
	}
	if got, err := run("shop:folder", r); err != nil || got != dir {
		t.Errorf("the working directory: %v, %v", got, err)
	}
	if got, err := run("shop:inner", r); err != nil || got != "yes" {
		t.Errorf("a task of a task: %v, %v", got, err)
	}
	if got, err := run("shop:variable", nil, "EAGLERAY_TEST_INNER"); err != nil || got != nil {
		t.Errorf("the variable elsewhere: %v, %v", got, err)
	}
	if got, err := run("shop:inner", nil); err != nil || got != nil {
		t.Errorf("a task of a task in the session's environment: %v, %v", got, err)
	}
	a := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{RuntimeEnv: r}))
	if got, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add"))); err != nil || got != 1 {
		t.Errorf("an actor: %v, %v", got, err)
	}
	for name, bad := range map[string]*core.RuntimeEnv{
		"folder": {WorkingDir: filepath.Join(dir, "none")}, "module": {PyModules: []string{filepath.Join(dir, "none")}}, "variable": {EnvVars: map[string]string{"A=B": ""}},
	} {
		if _, err := s.Function("shop:same", core.Call{RuntimeEnv: bad}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("a bad %s: %v", name, err)
		}
	}
}

func TestActor_Names(t *testing.T) {
	ctx, s := join(t, opts)
	add := func(a *core.Actor, n int) (int, error) {
		return core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", n)))
	}
	first := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Name: "till", GetIfExists: true}))
	second := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Name: "till", GetIfExists: true}))
	found := must[*core.Actor](t)(s.GetActor(ctx, "till", ""))
	for i, a := range []*core.Actor{first, second, found} {
		if got, err := add(a, 1); err != nil || got != i+1 || a.ID() != first.ID() {
			t.Errorf("handle %d: %d, %v", i, got, err)
		}
	}
	if got, err := call[int](t, ctx, s, "call_named", "till", "tests"); err != nil || got != 8 {
		t.Errorf("called from Python by its name: %v, %v", got, err)
	}
	if _, err := s.NewActor(ctx, "shop:Counter", core.Call{Name: "till"}); !errors.Is(err, core.ErrAlreadyExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	for _, where := range []string{"", "elsewhere"} {
		if _, err := s.GetActor(ctx, "nobody", where); !errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrNoCluster) {
			t.Errorf("a name that nobody has: %v", err)
		}
	}
	if err := found.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := add(second, 1); !errors.Is(err, core.ErrActorDied) {
		t.Errorf("a call after Kill: %v", err)
	}
	exclusive := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Exclusive: true}))
	if got, err := add(exclusive, 3); err != nil || got != 3 {
		t.Errorf("an exclusive actor: %v, %v", got, err)
	}
	must[any](t)(call[any](t, ctx, s, "make_named", "of python"))
	python := must[*core.Actor](t)(s.GetActor(ctx, "of python", "shop"))
	if got, err := add(python, 5); err != nil || got != 15 {
		t.Errorf("an actor of Python's: %v, %v", got, err)
	}
	runtime.GC()
	if err := python.Kill(ctx); err != nil {
		t.Fatal(err)
	}
}

// Detached actors stay when their program leaves; the others end.
func TestActor_Detached_OutlivesItsSession(t *testing.T) {
	ctx, s := join(t, opts)
	must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Name: "stays", Detached: true}, 7))
	must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Name: "goes"}, 7))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, s = join(t, opts)
	a := must[*core.Actor](t)(s.GetActor(ctx, "stays", ""))
	if got, err := core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", 1))); err != nil || got != 8 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.GetActor(ctx, "goes", ""); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("an actor that is not detached: %v", err)
	}
	if err := a.Kill(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_NodesAndResources(t *testing.T) {
	ctx, s := join(t, opts)
	all := must[map[string]float64](t)(s.Resources(ctx))
	if all["CPU"] != 4 || all["slot"] != 3 {
		t.Errorf("resources %v", all)
	}
	hold := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{Resources: map[string]float64{"slot": 1.5}}))
	must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, hold, "add"))))
	if free := must[map[string]float64](t)(s.AvailableResources(ctx)); free["slot"] != 1.5 {
		t.Errorf("available %v", free)
	}
	nodes := must[[]core.Node](t)(s.Nodes(ctx))
	if len(nodes) != 1 || !nodes[0].Alive || !nodes[0].Head || nodes[0].Resources["CPU"] != 4 || nodes[0].ID == "" {
		t.Errorf("nodes %+v", nodes)
	}
	runtime.KeepAlive(hold)
}

// Options that do not belong together are errors that name them.
func TestCall_Contradictions_Named(t *testing.T) {
	ctx, s := join(t, opts)
	for words, c := range map[string]core.Call{
		"MaxRestarts": {MaxRestarts: 1}, "MaxTaskRetries": {MaxTaskRetries: 1}, "MaxConcurrency": {MaxConcurrency: 2}, "Detached": {Detached: true},
		"GetIfExists": {GetIfExists: true}, "Namespace": {Namespace: "x"}, "MaxPendingCalls": {MaxPendingCalls: 1}, "NumReturns": {NumReturns: -1},
		"ItemsAhead": {ItemsAhead: -1}, "RetryExceptions": {RetryExceptions: true, MaxRetries: -1}, "MaxRetries": {MaxRetries: -3},
		"Exclusive": {Exclusive: true}, "NotExclusive": {NotExclusive: true},
	} {
		if _, err := s.Function("shop:same", c); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("a function: %v, want %q", err, words)
		}
	}
	for words, c := range map[string]core.Call{
		"MaxRetries": {MaxRetries: 1}, "MaxCalls": {MaxCalls: 1}, "NumReturns": {NumReturns: 2}, "ItemsAhead": {ItemsAhead: 1}, "needs a Name": {Detached: true},
		"GetIfExists": {GetIfExists: true}, "Namespace": {Namespace: "x"}, "MaxRestarts": {MaxRestarts: -2}, "RetryExceptions": {RetryExceptions: true},
		"contradict each other": {Exclusive: true, NotExclusive: true},
	} {
		if _, err := s.NewActor(ctx, "shop:Counter", c); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("an actor: %v, want %q", err, words)
		}
	}
}

// One session, used in all ways from many goroutines at once.
func TestSession_ManyGoroutines(t *testing.T) {
	ctx, s := join(t, opts)
	f := must[*core.Function](t)(s.Function("shop:same", core.Call{}))
	actor := must[*core.Actor](t)(s.NewActor(ctx, "shop:Counter", core.Call{}))
	array := must[core.NDArray](t)(core.NewNDArray(newOnes(20_000)))
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 15 {
				ref, err := core.Submit[core.NDArray](ctx, f, array)
				if err != nil {
					t.Error(err)
					return
				}
				ready, _, err := core.Wait(ctx, []core.AnyRef{ref}, 1)
				if a, err2 := core.Get(ctx, ref); err != nil || err2 != nil || len(ready) != 1 || !all(a, -1) {
					t.Error(err, err2)
				}
				if _, err := call[int](t, ctx, s, "add", i, core.Kwargs{"b": i}); err != nil {
					t.Error(err)
				}
				if r, err := core.Invoke[int](ctx, actor, "add", 1); err != nil {
					t.Error(err)
				} else if _, err := core.Get(ctx, r); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					runtime.GC()
				}
			}
		}()
	}
	wg.Wait()
	if got := must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, actor, "add", 0)))); got != 8*15 {
		t.Errorf("the actor counted %d calls", got)
	}
}
