package inquiry

import (
	"reflect"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestLargest_NodesThatNoOtherExceeds(t *testing.T) {
	node := func(alive bool, r map[string]int64) wire.NodeInfo { return wire.NodeInfo{Alive: alive, Resources: r} }
	small := map[string]int64{"CPU": 1, "node:a": 1}
	got := Largest([]wire.NodeInfo{
		node(true, small),
		node(true, map[string]int64{"CPU": 4, "node:b": 1}),
		node(false, map[string]int64{"CPU": 99}),
		node(true, map[string]int64{"CPU": 2, "GPU": 1, "node:c": 1}),
		node(true, map[string]int64{"CPU": 4, "node:d": 1}), // as large as one before
		node(true, map[string]int64{"CPU": 2, "node:e": 1}),
	})
	want := []map[string]int64{{"CPU": 4, "node:a": 1, "node:b": 1, "node:d": 1, "node:e": 1}, {"CPU": 2, "GPU": 1, "node:c": 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(small) != 2 {
		t.Errorf("a row has changed: %v", small)
	}
	if Largest(nil) != nil {
		t.Error("no nodes have something")
	}
}
