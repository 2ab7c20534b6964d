package nodeprocess

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func TestTwinOf_LivingNodeOfThatName_IsNamed(t *testing.T) {
	self := record.Node{ID: ids.Node{1}, Name: "a", Address: "10.0.0.1", State: record.NodeAlive}
	other := record.Node{ID: ids.Node{2}, Name: "a", Address: "10.0.0.2", State: record.NodeAlive}
	text := twinOf([]record.Node{self, other}, self)
	for _, want := range []string{`called "a"`, "node 02000000 at 10.0.0.2", "node 01000000 at 10.0.0.1", "--node-name"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q has no %q", text, want)
		}
	}
	dead, named := other, other
	dead.State, named.Name = record.NodeDead, "b"
	if text := twinOf([]record.Node{self, dead, named}, self); text != "" {
		t.Errorf("a warning of nothing: %q", text)
	}
}
