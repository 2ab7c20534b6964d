package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/worker"
)

func TestFunction_ValuesErrorsAndPanics(t *testing.T) {
	ctx, s := join(t)
	if n, err := call[int](ctx, s, "sum", core.Call{}, 1, 2); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := call[int](ctx, s, "double_sum", core.Call{}, 1, 2); n != 6 || err != nil {
		t.Error("a function that calls another one:", n, err)
	}
	for _, x := range []struct {
		name, class, text string
		args              []any
	}{
		{"root", "error", "-1 has no root", []any{-1.0}},
		{"index", "panic", "index out of range [3] with length 1", []any{[]int{1}, 3}},
		{"sum", "refused", "takes 2 arguments, and was given 1", []any{1}},
		{"sum", "refused", "argument 1 of sum(int, int)", []any{1, "x"}},
		{"nix", "refused", `has no function "nix"; it has registered the functions `, nil},
	} {
		_, err := call[any](ctx, s, x.name, core.Call{}, x.args...)
		var e *core.RemoteError
		if !errors.As(err, &e) || e.Class != x.class || e.Language != "go" || e.Function != x.name || !strings.Contains(e.Message, x.text) {
			t.Errorf("%s: %v, want %s with %q", x.name, err, x.class, x.text)
		}
		if errors.Is(err, core.ErrCrossLanguage) {
			t.Errorf("%s: an error of Go's counts as one of another language", x.name)
		}
		if x.class == "panic" && (e == nil || !strings.Contains(e.Traceback, "main_test.go:")) {
			t.Errorf("the stack of a panic: %v", e)
		}
	}
}

func TestFunction_Retries(t *testing.T) {
	ctx, s := join(t)
	path := filepath.Join(t.TempDir(), "a")
	if _, err := call[string](ctx, s, "once", core.Call{}, path); err == nil {
		t.Error("an error is not retried unless that was asked for")
	}
	if v, err := call[string](ctx, s, "once", core.Call{RetryExceptions: true}, path+"b"); v != "done" || err != nil {
		t.Error(v, err)
	}
}

func TestFunction_ResourcesDevicesAndVariables(t *testing.T) {
	ctx, s := join(t)
	ids, err := call[[]string](ctx, s, "gpus", core.Call{NumGPUs: 2})
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"0", "1"}) {
		t.Error(ids, err)
	}
	if v, err := call[string](ctx, s, "env", core.Call{NumGPUs: 2}, "CUDA_VISIBLE_DEVICES"); v != "0,1" || err != nil {
		t.Error(v, err)
	}
	if r, err := call[map[string]float64](ctx, s, "resources", core.Call{NumCPUs: 2.5, Memory: 1 << 20}); err != nil || r["CPU"] != 2.5 {
		t.Error(r, err)
	}
	env := &core.RuntimeEnv{EnvVars: map[string]string{"A_TEST": "yes"}}
	if v, err := call[string](ctx, s, "env", core.Call{RuntimeEnv: env}, "A_TEST"); v != "yes" || err != nil {
		t.Error(v, err)
	}
	if _, err := call[int](ctx, s, "sum", core.Call{NumCPUs: 100}, 1, 2); !errors.Is(err, core.ErrUnschedulable) {
		t.Error(err)
	}
}

func TestFunction_InAGroupThatCaptures_WhatItCallsRunsThere(t *testing.T) {
	ctx, s := join(t)
	g, err := s.NewPlacementGroup(ctx, []core.Bundle{{"CPU": 2, "GPU": 2}}, core.GroupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	// All GPUs are in the group, so the inner call finds one only there.
	if ok, err := call[bool](ctx, s, "group", core.Call{Strategy: core.InGroup(g, 0, true)}); !ok || err != nil {
		t.Error(ok, err)
	}
	if err := g.Remove(ctx); err != nil {
		t.Error(err)
	}
}

func TestFunction_Cancelled_ContextEnds(t *testing.T) {
	ctx, s := join(t)
	f, err := s.GoFunction("wait", core.Call{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "began")
	r, err := core.Submit[any](ctx, f, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) {
		if ctx.Err() != nil {
			t.Fatal("it does not begin")
		}
		time.Sleep(time.Millisecond)
	}
	if err := r.Cancel(ctx, false); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Get(ctx, r); !errors.Is(err, core.ErrTaskCancelled) {
		t.Error(err)
	}
}

func TestStream_Items(t *testing.T) {
	ctx, s := join(t)
	f, err := s.GoFunction("squares", core.Call{ItemsAhead: 2})
	if err != nil {
		t.Fatal(err)
	}
	items, err := core.Stream[int](ctx, f, 5)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for v, err := range items.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if !slices.Equal(all, []int{0, 1, 4, 9, 16}) {
		t.Error(all)
	}
	if _, err := call[int](ctx, s, "squares", core.Call{}, 5); err == nil || !strings.Contains(err.Error(), "is a stream") {
		t.Error(err)
	}
}

func TestActor_CallsRestartsAndConstructors(t *testing.T) {
	ctx, s := join(t)
	a, err := s.NewGoActor(ctx, "Account", core.Call{Name: "savings", MaxRestarts: 1, MaxTaskRetries: 0}, 10)
	if err != nil {
		t.Fatal(err)
	}
	deposit := func(a *core.Actor, n int) (int, error) {
		r, err := core.Invoke[int](ctx, a, "Deposit", n)
		if err != nil {
			return 0, err
		}
		return core.Get(ctx, r)
	}
	if n, err := deposit(a, 5); n != 15 || err != nil {
		t.Error(n, err)
	}
	found, err := s.GetActor(ctx, "savings", "")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := deposit(found, 5); n != 20 || err != nil {
		t.Error(n, err)
	}
	r, err := core.Invoke[any](ctx, a, "Exit")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Get(ctx, r); !errors.Is(err, core.ErrActorUnavailable) && !errors.Is(err, core.ErrActorDied) {
		t.Errorf("a call whose process ends: %v", err)
	}
	if n, err := deposit(a, 1); n != 11 || err != nil {
		t.Error("after the restart:", n, err)
	}
	broken, err := s.NewGoActor(ctx, "Account", core.Call{}, -1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = deposit(broken, 1)
	var e *core.RemoteError
	if !errors.Is(err, core.ErrActorDied) || !errors.As(err, &e) || e.Message != "no debts" {
		t.Errorf("a constructor that fails: %v", err)
	}
}

func TestCall_OptionsThatGoCannotHave_AreRefused(t *testing.T) {
	ctx, s := join(t)
	for text, o := range map[string]core.Call{
		"OnLeak":    {MaxCalls: core.OnLeak, NumGPUs: 1},
		"PyModules": {RuntimeEnv: &core.RuntimeEnv{PyModules: []string{"."}}},
		"no file":   {GoWorker: os.TempDir()},
		"give its":  {GoWorker: "no-such-program-anywhere"},
		"not exec":  {GoWorker: "./worker_test.go"},
		"none, and": {GoWorker: "./none, and nowhere"},
	} {
		if _, err := s.GoFunction("sum", o); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	if _, err := s.GoFunction("", core.Call{}); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
	if _, err := s.Function("math:sqrt", core.Call{GoWorker: program}); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
	if _, err := s.NewGoActor(ctx, "Account", core.Call{MaxRetries: 1}); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
}

func TestRegister_WhatCannotBeCalled_Panics(t *testing.T) {
	refused := func(text string, register func()) {
		t.Helper()
		defer func() {
			if p := fmt.Sprint(recover()); !strings.Contains(p, text) {
				t.Errorf("panic %q, want %q", p, text)
			}
		}()
		register()
	}
	refused("is no function", func() { worker.Function("x", 5) })
	refused("is nil", func() { worker.Function("x", (func())(nil)) })
	refused("argument 0: a chan int", func() { worker.Function("x", func(chan int) {}) })
	refused("a context is the first argument", func() { worker.Function("x", func(int, context.Context) {}) })
	refused("returns 2 values", func() { worker.Function("x", func() (int, int) { return 1, 2 }) })
	refused("its result: a func()", func() { worker.Function("x", func() func() { return nil }) })
	refused("from 1 to", func() { worker.Function("", func() {}) })
	refused("must return the instance", func() { worker.Actor("x", func() error { return nil }) })
	refused("no exported methods", func() { worker.Actor("x", func() int { return 1 }) })
	worker.Function("registered in a test", func() {})
	refused("registered twice", func() { worker.Actor("registered in a test", NewAccount) })
}

func TestContext_OfNoCall_HasNothing(t *testing.T) {
	ctx := context.Background()
	if worker.Session(ctx) != nil || worker.GPUs(ctx) != nil || worker.Resources(ctx) != nil || !reflect.DeepEqual(worker.Call(ctx), worker.Info{}) {
		t.Error("a context that belongs to no call knows of one")
	}
	if worker.NoRetry(nil) != nil {
		t.Error("no error is one")
	}
}

func TestSession_OfAWorker_HasKeysAndIsNotClosed(t *testing.T) {
	ctx, s := join(t)
	if v, err := call[string](ctx, s, "keys", core.Call{}, "worker/test"); v != "from a worker" || err != nil {
		t.Error(v, err)
	}
	if n, err := call[int](ctx, s, "sum", core.Call{}, 1, 2); n != 3 || err != nil {
		t.Error(n, err)
	}
}

func TestFunction_Fallback_IsAnotherFunctionOfTheProgram(t *testing.T) {
	ctx, s := join(t)
	o := core.Call{NumGPUs: 16, Fallback: []core.Alternative{{Path: "double_sum", NumCPUs: 1}}}
	if n, err := call[int](ctx, s, "sum", o, 1, 2); n != 6 || err != nil {
		t.Error(n, err)
	}
}
