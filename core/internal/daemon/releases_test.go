package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Actors on nodes of another release cannot be called, and whoever asks is told both versions. It is no reason as long as nobody knows the release of the node.
func TestMayCall_ActorOnANodeOfAnotherRelease_BothVersionsAreNamed(t *testing.T) {
	versions := map[uint32]int{2: wire.Version, 3: wire.Version + 1, 4: 0}
	d := &Daemon{o: Options{Number: 1, NodeOf: func(number uint32) (record.Node, bool) {
		v, known := versions[number]
		if number == 6 {
			return record.Node{State: record.NodeDead, Wire: wire.Version + 1}, true
		}
		return record.Node{State: record.NodeAlive, Address: "10.0.0.3", Wire: v}, known
	}}}
	at := func(node uint32, state record.ActorState) *record.Resolution {
		return &record.Resolution{State: state, Actor: record.Actor{Address: wire.AddressOf(ids.NewWorkerOn(node).Owner())}}
	}
	for _, r := range []*record.Resolution{at(1, record.ActorAlive), at(2, record.ActorAlive), at(4, record.ActorAlive), at(5, record.ActorAlive), at(6, record.ActorAlive), at(3, record.ActorDead), {State: record.ActorAlive}} {
		if err := d.mayCall(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	err := d.mayCall(at(3, record.ActorAlive))
	if fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), "(10.0.0.3) is of another release of Eagle Ray: "+fmt.Sprintf("its processes speak version %d and those of this node version %d", wire.Version+1, wire.Version)) {
		t.Errorf("got %v", err)
	}
}
