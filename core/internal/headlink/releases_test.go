package headlink_test

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// All nodes hear which version the processes of a node speak, whether it registers before they connect or after. Its resources are offered to its own release only.
func TestHello_NodeOfAnotherRelease_IsToldToAllAndGetsNoWorkOfOthers(t *testing.T) {
	next := wire.Version + 1
	w, m := cluster(t, 1, 2, 3)
	early, same, late := m[0], m[1], m[2]
	other := newMember(t, 4)
	other.client.Close()
	other.client = headlink.NewClient(headlink.ClientOptions{Number: 4, ID: other.id, Node: other, Placed: other, Wire: next, Log: quiet()})
	t.Cleanup(other.client.Close)
	joins := func(m *member) {
		t.Helper()
		w.meets(m)
		if err := m.client.RegisterNode(w.ctx, record.Node{ID: m.id, Address: "a", Number: m.number}); err != nil {
			t.Fatal(err)
		}
	}
	joins(early)
	joins(other)
	joins(late)
	early.client.Stock(all(oneCPU))
	late.client.Stock(all(oneCPU))
	other.client.Stock(all(resource.Set{"CPU": resource.Unit, "b": 8 * resource.Unit}))
	knows := func(who *member, of *member) int {
		who.mu.Lock()
		defer who.mu.Unlock()
		return who.nodes[of.id].Wire
	}
	for _, who := range []*member{early, late, other} {
		until(t, "all know the versions of all", func() bool {
			return knows(who, early) == wire.Version && knows(who, late) == wire.Version && knows(who, other) == next
		})
	}
	list, err := early.client.Nodes(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		want := wire.Version
		if n.ID == other.id {
			want = next
		}
		if n.Wire != want {
			t.Errorf("node %d: its processes speak version %d, want %d", n.Number, n.Wire, want)
		}
	}
	if n, known := w.state.Node(other.id); !known || n.Wire != 0 {
		t.Errorf("the replicated state says version %d of a node, and other builds of heads would not", n.Wire)
	}
	early.client.Want(5, 6, wants(1, oneB))
	until(t, "the want has come", func() bool { return w.server.Sizes()["wants"] == 1 })
	joins(same)
	same.client.Stock(all(oneB))
	early.expect(t, "1 of node 2 to 1/5/6")
	// The leading head is another process: nodes say again what they speak.
	w.restartHead()
	joins(late)
	joins(other)
	until(t, "the next head knows it", func() bool {
		list, err := late.client.Nodes(w.ctx)
		if err != nil {
			return false
		}
		for _, n := range list {
			if n.ID == other.id {
				return n.Wire == next
			}
		}
		return false
	})
}
