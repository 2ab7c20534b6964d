package pulls

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// A question whether objects are there is answered by the nodes of their owners.
func TestMissing_AsksTheOwnersNodes(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	a, b := w.nodes[1], w.nodes[2]
	local, there, being, gone, dead := a.id(), a.id(), a.id(), a.id(), w.nodes[3].id()
	a.put(&process{}, local, mib)
	b.put(&process{}, there, mib)
	if _, err := b.create(&process{}, being, mib); err != nil {
		t.Fatal(err)
	}
	w.kill(3)
	for _, n := range []*node{a, b} {
		answer := make(chan []string, 1)
		n.locked(func() {
			var ask [][]byte
			for _, id := range []ids.Object{local, there, being, gone, dead} {
				if !n.store.Has(id) {
					ask = append(ask, id.Raw())
				}
			}
			n.p.Missing(append(ask, []byte("no id")), func(missing [][]byte) {
				var list []string
				for _, raw := range missing {
					list = append(list, ids.Object(raw).String())
				}
				answer <- list
			})
		})
		got := receive(t, answer)
		if len(got) != 2 || !strings.Contains(strings.Join(got, " "), gone.String()) || !strings.Contains(strings.Join(got, " "), dead.String()) {
			t.Errorf("node %d: %d objects are missing", n.number, len(got))
		}
	}
}
