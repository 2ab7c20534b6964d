package system

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

func TestGoAPI_Fallback_TakesWhatIsThere(t *testing.T) {
	o := cluster(t)
	s := must[*core.Session](t)(core.Connect(context.Background(), o))
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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

func TestLease_Alternatives_ChosenByTheDaemon(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2, "num_gpus": 1})
	d := s.start(nil)
	define := func(id uint32, after int64, alternatives ...wire.Alternative) {
		d.push(wire.TClassDefine, wire.ClassDefine{ClassID: id, Resources: units(map[string]float64{"GPU": 1}), EnvKey: "default", Name: "f",
			Fallback: alternatives, AfterMs: after})
	}
	cpu := wire.Alternative{Resources: units(map[string]float64{"CPU": 1})}
	define(1, 0, cpu)
	d.want(1, 2)
	a, b := d.lease(), d.lease()
	if a.Choice != 0 || a.Assignment.Env["CUDA_VISIBLE_DEVICES"] != "0" {
		t.Errorf("the first lease is choice %d with %v", a.Choice, a.Assignment)
	}
	if env, set := b.Assignment.Env["CUDA_VISIBLE_DEVICES"]; b.Choice != 1 || !b.Better || !set || env != "" || b.Assignment.Resources["CPU"] != 10000 {
		t.Errorf("the second lease is choice %d with %v", b.Choice, b.Assignment)
	}
	// The client says when a want may be served by an alternative, and until then it waits for the better one.
	define(2, 50, cpu)
	d.want(2, 1)
	eventually(t, "the better one is demand", func() bool {
		i := d.info()
		return len(i.Demands) == 1 && i.Demands[0].Resources["GPU"] == 10000 && i.Demands[0].Count == 1
	})
	d.push(wire.TLeaseWant, wire.LeaseWant{ClassID: 2, Want: 1, Due: 1})
	if c := d.lease(); c.ClassID != 2 || c.Choice != 1 {
		t.Errorf("got a lease of class %d, choice %d", c.ClassID, c.Choice)
	}
	// More than may be: refused, and the connection lives on.
	define(3, 0, make([]wire.Alternative, wire.MaxAlternatives+1)...)
	define(4, -1, cpu)
	define(5, 0, wire.Alternative{Resources: map[string]int64{"CPU": -1}})
	for _, id := range []uint32{3, 4, 5} {
		d.want(id, 1)
	}
	b.giveBack()
	define(6, 0, cpu)
	d.want(6, 1)
	if c := d.lease(); c.ClassID != 6 || c.Choice != 1 {
		t.Errorf("got a lease of class %d, choice %d", c.ClassID, c.Choice)
	}
}
