package workers

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPlaced_EnvironmentHasNeeds_ProvidesThemAfterItsFolders(t *testing.T) {
	spec := &wire.EnvSpec{Python: "/usr/bin/python", Cwd: "/there", Packages: []wire.Package{{Path: "/there"}}, Needs: []wire.Need{{Field: wire.NeedPip, What: "{}"}}}
	z := NewZygote(spec, ids.JobOf(7), "/sessions/one/sock", t.TempDir(), nil)
	z.place = func(_ context.Context, _ ids.Job, e *wire.EnvSpec) (*wire.EnvSpec, error) {
		x := *e
		x.Cwd = "/here"
		return &x, nil
	}
	freed := make(chan bool, 9)
	z.provide = func(_ context.Context, e *wire.EnvSpec, env []string) (*Provided, error) {
		if e.Cwd != "/here" || !strings.Contains(strings.Join(env, " "), jobVar+"="+ids.JobOf(7).String()) {
			t.Errorf("it is asked for %+v with %q", e, env)
		}
		return &Provided{Command: []string{"/made/python", "-B"}, Answers: []json.RawMessage{[]byte("{}")}, Free: func() { freed <- true }}, nil
	}
	if got := z.command(); got[0] != "/usr/bin/python" {
		t.Errorf("before it is provided the interpreter is %q", got)
	}
	if err := z.placed(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(z.command(), " "); !strings.HasPrefix(got, "/made/python -B -m ") {
		t.Errorf("the interpreter is %q", got)
	}
	z.free()
	z.free()
	<-freed
	select {
	case <-freed:
		t.Error("it was freed twice")
	case <-time.After(10 * time.Millisecond):
	}
}

func TestPlaced_ZygoteIsClosedMeanwhile_EndsTheWait(t *testing.T) {
	spec := &wire.EnvSpec{Python: "/usr/bin/python", Needs: []wire.Need{{Field: wire.NeedPip, What: "{}"}}}
	z := NewZygote(spec, ids.JobOf(7), "/sessions/one/sock", t.TempDir(), nil)
	z.provide = func(ctx context.Context, _ *wire.EnvSpec, _ []string) (*Provided, error) {
		z.Close("its job has ended")
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if err := z.placed(); err == nil || err.Error() != "its job has ended" {
		t.Errorf("got %v", err)
	}
}

func TestFreeUnused_WorkersOutliveTheirZygote_TheLastOneFrees(t *testing.T) {
	table := newTable(Options{Lock: new(sync.Mutex), Log: slog.New(slog.DiscardHandler)})
	defer table.orphans.Close()
	freed := make(chan bool, 9)
	z := &envZygote{Zygote: NewZygote(&wire.EnvSpec{}, ids.JobOf(7), "s", t.TempDir(), nil)}
	z.made = &Provided{Free: func() { freed <- true }}
	one, other := &Worker{zygote: z}, &Worker{zygote: z}
	table.workers[one], table.workers[other] = struct{}{}, struct{}{}
	notYet := func(when string) {
		t.Helper()
		if z.made == nil {
			t.Errorf("%s it is free", when)
		}
	}
	table.remove(one)
	notYet("while the zygote lives")
	z.gone = true
	table.freeUnused(z)
	notYet("while a worker lives")
	table.remove(other)
	select {
	case <-freed:
	case <-time.After(testLimit):
		t.Error("nobody has freed it")
	}
}

func TestHookTime_EnvironmentHasAHook_WorkersMayTakeLonger(t *testing.T) {
	hook, pip := wire.Need{Field: wire.NeedHook, What: "{}"}, wire.Need{Field: wire.NeedPip, What: "{}"}
	config := func(what string) wire.Need { return wire.Need{Field: wire.NeedConfig, What: what} }
	for _, c := range []struct {
		needs []wire.Need
		want  time.Duration
	}{
		{nil, 0}, {[]wire.Need{pip, config(`{"seconds":20}`)}, 0}, {[]wire.Need{hook}, longestHook},
		{[]wire.Need{hook, config(`{"seconds":20}`)}, 20 * time.Second}, {[]wire.Need{hook, config(`{"seconds":0}`)}, longestHook},
		{[]wire.Need{hook, config(`{"seconds":86400}`)}, longestHook}, {[]wire.Need{hook, config("x")}, longestHook},
	} {
		if got := hookTime(&wire.EnvSpec{Needs: c.needs}); got != c.want {
			t.Errorf("%+v: %v, want %v", c.needs, got, c.want)
		}
	}
}
