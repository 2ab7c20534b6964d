package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
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
	if got := get(t, c, submit(t, c, template(t, c, strings.Repeat("x", maxName)), "a")); got != "a" {
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

func TestCheckResources_NamesTooLongOrTooMany_Refused(t *testing.T) {
	many := func(n int, length int) map[string]int64 {
		r := map[string]int64{}
		for i := range n {
			r[fmt.Sprintf("%0*d", length, i)] = 1
		}
		return r
	}
	for _, r := range []map[string]int64{many(1, maxResourceName), many(10_000, 20), many(wire.MaxAmounts, 5)} {
		if err := checkResources("f", r); err != nil {
			t.Error(err)
		}
	}
	for _, r := range []map[string]int64{many(1, maxResourceName+1), many(1000, 3000), many(wire.MaxAmounts+1, 5)} {
		if err := checkResources("f", r); fault.CodeOf(err) != fault.BadRequest || len(err.Error()) > 1000 {
			t.Errorf("%.200v", err)
		}
	}
}

func TestNewActor_TooLargeForTheState_Refused(t *testing.T) {
	c := startDaemon(t).driver()
	for what, s := range map[string]*ActorSpec{
		"class":       {Blob: make([]byte, maxActor+1)},
		"alternative": {Classes: []ActorCode{{Blob: make([]byte, maxActor+1)}}},
		"metadata":    {ActorCreate: wire.ActorCreate{Meta: make([]byte, maxActor+1)}},
		"name":        {ActorCreate: wire.ActorCreate{Name: strings.Repeat("x", maxName+1)}},
		"namespace":   {ActorCreate: wire.ActorCreate{Namespace: strings.Repeat("x", maxName+1)}},
		"resource":    {ActorCreate: wire.ActorCreate{Resources: map[string]int64{strings.Repeat("x", maxResourceName+1): 1}}},
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
