package templates

import (
	"math"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A census has the tasks that ended last, the latest first, and counts all of them by name, those of templates that are gone too.
func TestAddEnded_LatestFirst_AllAreCounted(t *testing.T) {
	var x Table[class]
	f, m := function("f"), &Template[class]{Kind: frame.KindMethod, Name: "A.m"}
	x.AddTemplate(f, maker)
	x.AddTemplate(m, maker)
	actor := ids.Actor{7}
	end := func(first uint64, t *Template[class], a *ids.Actor, tries int32, failed bool) {
		t.Submitted()
		t.Ended(failed)
		var why *Why
		if failed {
			why = NewWhy(string(fault.ActorDied), strings.Repeat("ä", wire.MaxTaskError))
		}
		x.Endings.Add(first, t, a, tries, failed, why)
	}
	for i := range uint64(keptEnds) {
		end(i, f, nil, 0, false)
	}
	m.MaxRetries = 1
	end(5000, m, &actor, 2, true) // its worker died in the second attempt
	f.Retire()
	x.RemoveTemplate(f)
	var c wire.ProcessCensus
	x.AddEnded(&c, 2, func(first uint64) ids.Task { return ids.Task{byte(first >> 8), byte(first)} })
	if len(c.Ended) != 2 {
		t.Fatalf("%d rows, want 2", len(c.Ended))
	}
	last, before := c.Ended[0], c.Ended[1]
	if last.Name != "A.m" || !last.Method || last.State != wire.TaskFailed || last.Attempt != 1 || ids.Actor(last.ActorID) != actor || last.TaskID[0] != 5000>>8 {
		t.Errorf("the latest is %+v", last)
	}
	if last.Code != "actor_died" || last.Error != strings.Repeat("ä", wire.MaxTaskError/2) || before.Code != "" || before.Error != "" {
		t.Errorf("the latest failed because of %q, %d bytes, the one before because of %q", last.Code, len(last.Error), before.Code)
	}
	if before.Name != "f" || before.Method || before.State != wire.TaskFinished || before.ActorID != nil || before.TaskID[0] != (keptEnds-1)>>8 {
		t.Errorf("the one before is %+v", before)
	}
	if len(c.ByMaker) != 2 || c.ByMaker[0].Name != "A.m" || c.ByMaker[0].Failed != 1 || c.ByMaker[0].Finished != 0 || c.ByMaker[1].Finished != keptEnds || c.ByMaker[1].Failed != 0 {
		t.Errorf("counted are %+v", c.ByMaker)
	}
	c = wire.ProcessCensus{}
	if x.AddEnded(&c, 10*keptEnds, func(uint64) ids.Task { return ids.Task{} }); len(c.Ended) != keptEnds {
		t.Errorf("%d ended tasks are remembered, want %d", len(c.Ended), keptEnds)
	}
}

// A template that no worker would read is refused, with what is wrong; what lies within the limits is not.
func TestCheck_OutsideTheLimits_IsRefused(t *testing.T) {
	for words, change := range map[string]func(*Template[class]){
		"the name of a task has":                   func(x *Template[class]) { x.Name = strings.Repeat("x", MaxName+1) },
		"the name of a concurrency group has":      func(x *Template[class]) { x.Group = strings.Repeat("x", MaxName+1) },
		"the function id of f has 3 bytes":         func(x *Template[class]) { x.FID = []byte("fid") },
		"is of kind 9":                             func(x *Template[class]) { x.Kind = 9 },
		"has -1 results":                           func(x *Template[class]) { x.Returns = -1 },
		"results (num_returns), want 0 to":         func(x *Template[class]) { x.Returns = maxReturns + 1 },
		"may be tried again -2 times":              func(x *Template[class]) { x.MaxRetries = -2 },
		"times (max_retries, max_task_retries)":    func(x *Template[class]) { x.MaxRetries = math.MaxInt32 + 1 },
		"runs f -2 times (max_calls)":              func(x *Template[class]) { x.MaxCalls = CallsUntilLeak - 1 },
		"the generator f has mode":                 func(x *Template[class]) { x.Flow.Mode = frame.FlowDynamic + 1 },
		"-1 items per yield":                       func(x *Template[class]) { x.Flow.Each = -1 },
		"bytes pickled, at most":                   func(x *Template[class]) { x.Blob = make([]byte, maxTemplate+1) },
		"asks for a resource whose name has":       func(x *Template[class]) { x.Resources = map[string]int64{strings.Repeat("x", MaxResourceName+1): 1} },
		"fallback has 17 alternatives, at most 16": func(x *Template[class]) { x.Fallback = make([]*Template[class], wire.MaxAlternatives+1) },
		"small may be tried again -9 times": func(x *Template[class]) {
			x.Fallback = []*Template[class]{{Kind: frame.KindTask, Name: "small", MaxRetries: -9}}
		},
	} {
		x := function("f")
		change(x)
		if err := x.Check(); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q: %.200v", words, err)
		}
	}
	for what, change := range map[string]func(*Template[class]){
		"nothing special": func(*Template[class]) {},
		"the limits": func(x *Template[class]) {
			x.Returns, x.MaxRetries, x.MaxCalls, x.Flow.Mode, x.Flow.Each = maxReturns, math.MaxInt32, CallsUntilLeak, frame.FlowDynamic, math.MaxInt32
		},
		"without end": func(x *Template[class]) { x.Returns, x.MaxRetries = 0, -1 },
	} {
		x := function("f")
		change(x)
		if err := x.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
