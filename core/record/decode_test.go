package record

import (
	"maps"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
)

// What is cut anywhere is an error, and what is absent stays absent.
func TestResources_Decode_CutAnywhere_IsAnError(t *testing.T) {
	want := Resources{"CPU": 10000, "GPU": 1 << 40, "tool": 0}
	b, err := msgpack.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Resources
	if err := msgpack.Unmarshal(b, &got); err != nil || !maps.Equal(got, want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for n := range b {
		if err := msgpack.Unmarshal(b[:n], new(Resources)); err == nil {
			t.Errorf("%d of %d bytes are taken for the whole", n, len(b))
		}
	}
	b, err = msgpack.Marshal(Resources(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := msgpack.Unmarshal(b, &got); err != nil || got != nil {
		t.Errorf("none became %v, %v", got, err)
	}
}

func TestActor_InstanceAndBrief(t *testing.T) {
	a := &Actor{
		ID: ids.Actor{1}, Incarnation: 2, Node: ids.Node{3}, Worker: ids.Worker{4}, Address: "/s", Pid: 5,
		Spec: []byte("spec"), Meta: []byte("meta"), Name: "it",
	}
	if got := a.Instance(); got != (Instance{Actor: a.ID, Incarnation: 2, Node: a.Node, Worker: a.Worker, Address: "/s", Pid: 5}) {
		t.Errorf("got %+v", got)
	}
	if b := a.Brief(); b.Spec != nil || b.Meta != nil || b.Name != "it" || b.ID != a.ID || string(a.Spec) != "spec" {
		t.Errorf("got %+v of %+v", b, a)
	}
	if JobNumber(ids.JobOf(70000)) != 70000 {
		t.Errorf("got %d", JobNumber(ids.JobOf(70000)))
	}
}
