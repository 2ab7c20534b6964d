package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestNewTemplate_LargerThanAFrame_Refused(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	for _, x := range []*Template{
		{Kind: KindTask, Name: strings.Repeat("x", 70<<20), FID: make([]byte, 16), Returns: 1},
		{Kind: KindTask, Name: "f", FID: []byte("large-of-sixteen"), Blob: make([]byte, 70<<20), Returns: 1},
		{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1, Fallback: []*Template{{Name: strings.Repeat("x", 70<<20)}}},
	} {
		if _, err := c.NewTemplate(x); fault.CodeOf(err) != fault.BadRequest || len(err.Error()) > 1000 {
			t.Errorf("%.200v", err)
		}
	}
	if got := get(t, c, submitText(t, c, template(t, c, strings.Repeat("x", templates.MaxName)), "a")); got != "a" {
		t.Error(got)
	}
}

func TestNewTemplate_FunctionIDOfAnotherLength_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	for _, fid := range []string{"short", "longer than sixteen"} {
		bad := Template{Kind: KindTask, Name: "f", FID: []byte(fid), Returns: 1}
		for _, x := range []*Template{&bad, {Kind: KindTask, Name: "g", FID: make([]byte, 16), Returns: 1, Fallback: []*Template{&bad}}} {
			if _, err := c.NewTemplate(x); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "function id of f") {
				t.Errorf("%v", err)
			}
		}
	}
}

// What no worker, no daemon or no state of the cluster could read is refused where the program gives it.
func TestNewTemplate_CountOrNameOutOfRange_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	long := strings.Repeat("x", templates.MaxName+1)
	for what, change := range map[string]func(*Template){
		"kind":     func(x *Template) { x.Kind = KindMethod + 1 },
		"method":   func(x *Template) { x.Method = long },
		"group":    func(x *Template) { x.Group = long },
		"key":      func(x *Template) { x.EnvKey = long },
		"strategy": func(x *Template) { x.Strategy = long },
		"results":  func(x *Template) { x.Returns = -1 },
		"(num_ret": func(x *Template) { x.Returns = 1<<32 + 1 }, // as 32 bits it would be 1
		"-2 times": func(x *Template) { x.MaxRetries = -2 },
		"tried":    func(x *Template) { x.MaxRetries = 1 << 32 },
		"max_call": func(x *Template) { x.MaxCalls = -2 },
		"mode 3":   func(x *Template) { x.Flow.Mode = FlowDynamic + 1 },
		"mode -1":  func(x *Template) { x.Flow.Mode = -1 },
		"yield":    func(x *Template) { x.Flow = Flow{Mode: FlowStream, Each: -1} },
	} {
		x := Template{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1}
		change(&x)
		if _, err := c.NewTemplate(&x); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), what) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", what, err)
		}
	}
	if len(c.submit.Templates) > 0 {
		t.Errorf("%d templates are kept", len(c.submit.Templates))
	}
}

func TestNewActor_IDCountOrNameOutOfRange_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	long := strings.Repeat("x", templates.MaxName+1)
	other := func(k ActorCode, a wire.Alternative) *ActorSpec {
		return &ActorSpec{Classes: []ActorCode{k}, ActorCreate: wire.ActorCreate{Fallback: []wire.Alternative{a}}}
	}
	for what, s := range map[string]*ActorSpec{
		"class id of A":     {FID: []byte("short"), ActorCreate: wire.ActorCreate{ClassName: "A"}},
		"class id of B":     other(ActorCode{FID: []byte("longer than sixteen")}, wire.Alternative{ClassName: "B"}),
		"alternative class": other(ActorCode{}, wire.Alternative{ClassName: long}),
		"resource":          other(ActorCode{}, wire.Alternative{RunResources: map[string]int64{strings.Repeat("x", templates.MaxResourceName+1): 1}}),
		"17 alternatives":   {ActorCreate: wire.ActorCreate{Fallback: make([]wire.Alternative, 17)}},
		"classes of 1":      {Classes: make([]ActorCode, 1)},
		"key of an env":     {ActorCreate: wire.ActorCreate{EnvKey: long}},
		"max_restarts=-2":   {ActorCreate: wire.ActorCreate{MaxRestarts: -2}},
		"concurrency=-1":    {ActorCreate: wire.ActorCreate{MaxConcurrency: -1}},
		"-1 ms":             {ActorCreate: wire.ActorCreate{AfterMs: -1}},
		"with its class":    {ActorCreate: wire.ActorCreate{Code: []byte("short")}},
	} {
		if _, _, err := c.NewActor(s, &Value{}, nil); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), what) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", what, err)
		}
	}
	if n := c.Footprint(false)["actors"]; n != 0 || len(c.submit.Actors) > 0 {
		t.Errorf("%d actors are kept", len(c.submit.Actors))
	}
}

// A token that cannot be read leaves nothing of the actor in the session.
func TestOpenActor_MalformedToken_RefusedAndNothingKept(t *testing.T) {
	c := startDaemon(t).driver()
	for _, token := range []string{"x", "zz@addr", "abcd@addr", strings.Repeat("ab", ids.ObjectSize)} {
		if _, err := c.OpenActor(ids.NewActor(c.info.Job), token, "A", 0, 0); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", token, err)
		}
	}
	if len(c.submit.Actors) > 0 {
		t.Errorf("%d actors are kept", len(c.submit.Actors))
	}
}

func TestNewActor_TooLargeForTheState_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	for what, s := range map[string]*ActorSpec{
		"class":       {Blob: make([]byte, actors.MaxActor+1)},
		"alternative": {Classes: []ActorCode{{Blob: make([]byte, actors.MaxActor+1)}}, ActorCreate: wire.ActorCreate{Fallback: make([]wire.Alternative, 1)}},
		"metadata":    {ActorCreate: wire.ActorCreate{Meta: make([]byte, actors.MaxActor+1)}},
		"name":        {ActorCreate: wire.ActorCreate{Name: strings.Repeat("x", templates.MaxName+1)}},
		"namespace":   {ActorCreate: wire.ActorCreate{Namespace: strings.Repeat("x", templates.MaxName+1)}},
		"resource":    {ActorCreate: wire.ActorCreate{Resources: map[string]int64{strings.Repeat("x", templates.MaxResourceName+1): 1}}},
	} {
		if _, _, err := c.NewActor(s, &Value{}, nil); fault.CodeOf(err) != fault.BadRequest || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", what, err)
		}
	}
}

func TestSubmit_TooManyReferences_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	tm := template(t, c, "f")
	_, _, err := c.Submit(&Call{Template: tm, Deps: make([]ids.Object, frame.MaxReferences+1)})
	if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "pass them in a list") {
		t.Error(err)
	}
}
