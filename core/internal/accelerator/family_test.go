package accelerator

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// A family is a variable and its place in the list: nothing else is told of this one.
func TestFamilies_NewOne_NeedsNothingButItsRegistration(t *testing.T) {
	wafer := Family{
		Name: "wafer", Resource: "WAFER", Vars: []string{"WAFER_VISIBLE"},
		detect: func(h *host) found {
			return found{ids: indices(len(h.numbered("/dev", "wafer"))), kind: "W3"}
		},
	}
	old := families
	families = append(slices.Clone(families), &wafer)
	defer func() { families = old }()

	node := fake{"dev/wafer0": "", "dev/wafer1": "", "dev/waferctl": ""}
	n := mustDetect(t, node, nil)
	if got := describe(n); got != "WAFER:0,1 W3" {
		t.Error(got)
	}
	if got := text(n.Env(ids("WAFER", "1"))) + " " + text(n.ZeroEnv(nil)); got != "WAFER_VISIBLE=1 WAFER_VISIBLE=" {
		t.Error(got)
	}
	if got := n.Resources().String(); got != `{"accelerator_type:W3": 1}` {
		t.Error(got)
	}
	if got := describe(mustDetect(t, node, nil, "WAFER_VISIBLE=1")); got != "WAFER:1 W3 limited" {
		t.Error(got)
	}
	if got := describe(mustDetect(t, fake{}, decl("WAFER", 3))); got != "WAFER:0,1,2 W3" {
		t.Error(got)
	}
	if _, err := detect(t, node, decl("WAFER", 2), "WAFER_VISIBLE=0"); err == nil || !strings.Contains(err.Error(), "WAFER_VISIBLE=0") {
		t.Error(err)
	}
	if !IsAccelerator("WAFER") || !slices.Contains(Names(), "WAFER") || Validate("WAFER", resource.Unit/2) == nil || Validate("WAFER", resource.Unit) != nil {
		t.Error("the rules do not know it")
	}
}
