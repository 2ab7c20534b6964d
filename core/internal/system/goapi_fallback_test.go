package system

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestGoAPI_Fallback_TakesWhatIsThere(t *testing.T) {
	o := cluster(t)
	s := must[*core.Session](t)(core.Connect(context.Background(), o))
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), play.Limit)
	defer cancel()
	gpu := core.Call{NumGPUs: 1, FallbackAfter: time.Hour}
	gpu.Fallback = []core.Alternative{{NumCPUs: 64}, {Path: "goapi_mod:double", NumCPUs: 2}}
	f := must[*core.Function](t)(s.Function("goapi_mod:boom", gpu))
	r := must[*core.Ref[int]](t)(core.Submit[int](ctx, f, 21))
	if got := must[int](t)(core.Get(ctx, r)); got != 42 {
		t.Errorf("got %d from the other function, want 42", got)
	}
	gpu.Fallback = []core.Alternative{{Path: "goapi_mod:Sum"}}
	a := must[*core.Actor](t)(s.NewActor(ctx, "goapi_mod:Missing", gpu, 40))
	r = must[*core.Ref[int]](t)(core.Invoke[int](ctx, a, "add", 2))
	if got := must[int](t)(core.Get(ctx, r)); got != 42 {
		t.Errorf("got %d from the other class, want 42", got)
	}
}

func TestGoAPI_Fallback_NothingFits_NamesAll(t *testing.T) {
	o := cluster(t)
	s := must[*core.Session](t)(core.Connect(context.Background(), o))
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), play.Limit)
	defer cancel()
	f := must[*core.Function](t)(s.Function("goapi_mod:double", core.Call{NumGPUs: 1, Fallback: []core.Alternative{{NumCPUs: 64}}}))
	r := must[*core.Ref[int]](t)(core.Submit[int](ctx, f, 21))
	_, err := core.Get(ctx, r)
	if fault.CodeOf(err) != fault.TaskUnschedulable || !strings.Contains(err.Error(), "GPU: asked 1") || !strings.Contains(err.Error(), "CPU: asked 64") {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]core.Call{
		"too many":       {Fallback: make([]core.Alternative, wire.MaxAlternatives+1)},
		"negative":       {Fallback: []core.Alternative{{NumCPUs: -1}}},
		"after nothing":  {FallbackAfter: time.Second},
		"negative after": {Fallback: []core.Alternative{{}}, FallbackAfter: -1},
		"no path":        {Fallback: []core.Alternative{{Path: "double"}}},
	} {
		if _, err := s.Function("goapi_mod:double", c); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("a function with %s: %v", name, err)
		}
		if _, err := s.NewActor(ctx, "goapi_mod:Sum", c, 1); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("an actor with %s: %v", name, err)
		}
	}
}
