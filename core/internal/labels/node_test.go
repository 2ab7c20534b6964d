package labels

import (
	"maps"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestCheck_LabelsOfANode(t *testing.T) {
	for _, right := range []map[string]string{nil, {"zone": "a"}, {"zone": ""}, {"a.b_c/d-e": "F.1_2-g"}, {"ray.io/market-type": "spot"}, {strings.Repeat("n", 63): strings.Repeat("v", 63)}} {
		if err := Check(right); err != nil {
			t.Errorf("%v: %v", right, err)
		}
	}
	for says, wrong := range map[string]map[string]string{
		"the name of the label": {"a b": "c"}, "the prefix of the label": {"a b/c": "d"}, "the value \"x y\"": {"ok": "fine", "zone": "x y"}, "is reserved": {"ray.io/node-id": "ab"},
		"at most 63": {"zone": strings.Repeat("v", 10_000)},
	} {
		if err := Check(wrong); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 500 {
			t.Errorf("%.100v: %v, want %q", wrong, err, says)
		}
	}
}

func TestWithID_TheIDIsTheNodes(t *testing.T) {
	node := ids.NewNode()
	given := map[string]string{"zone": "a", NodeID: "other"}
	if got, want := WithID(given, node), (map[string]string{"zone": "a", NodeID: node.String()}); !maps.Equal(got, want) || given[NodeID] != "other" {
		t.Errorf("the labels are %v, want %v; what was given is now %v", got, want, given)
	}
	if got := WithID(nil, node); len(got) != 1 {
		t.Errorf("without labels: %v", got)
	}
}
