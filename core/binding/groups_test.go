package binding

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// What Python reads of a placement group: ids as bytes, nodes as digits, and nothing where there is none.
func TestGroupMap_OfARecord(t *testing.T) {
	node := ids.Node{1}
	g := record.Group{
		ID: ids.Group{2}, Job: ids.JobOf(3), Name: "g", Namespace: "ns", Owner: ids.Owner{4}, Strategy: "PACK", State: record.GroupRescheduling, CreatedMs: 5, PlacedMs: 6, EndedMs: 7, Why: "w",
		Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 1}, Labels: map[string]string{"l": "m"}}, {}}, Nodes: []ids.Node{node, {}},
	}
	m := groupMap(&g)
	if !bytes.Equal(m["group_id"].([]byte), g.ID[:]) || !bytes.Equal(m["job_id"].([]byte), g.Job[:]) || !bytes.Equal(m["owner"].([]byte), g.Owner[:]) || m["actor_id"].([]byte) != nil {
		t.Errorf("its ids are %v", m)
	}
	if !reflect.DeepEqual(m["nodes"], []string{node.String(), ""}) {
		t.Errorf("its nodes are %q", m["nodes"])
	}
	want := []map[string]any{{"res": record.Resources{"CPU": 1}, "labels": map[string]string{"l": "m"}}, {"res": record.Resources(nil), "labels": map[string]string(nil)}}
	if !reflect.DeepEqual(m["bundles"], want) {
		t.Errorf("its bundles are %v", m["bundles"])
	}
	for name, want := range map[string]any{
		"name": "g", "namespace": "ns", "strategy": "PACK", "state": "RESCHEDULING", "detached": false, "created_ms": int64(5), "placed_ms": int64(6), "ended_ms": int64(7), "why": "w",
	} {
		if m[name] != want {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	g.Actor, g.Nodes = ids.Actor{8}, nil
	if m := groupMap(&g); !bytes.Equal(m["actor_id"].([]byte), g.Actor[:]) || !reflect.DeepEqual(m["nodes"], []string{"", ""}) {
		t.Errorf("of an actor, without nodes: %v", m)
	}
}
