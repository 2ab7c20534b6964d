package peers

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestNetwork_NodesThatAreThere_AreConnectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Network
		var got []string
		for _, number := range []uint32{1, 2} {
			n.Add(number, func(from uint32, m *wire.Message) {
				got = append(got, fmt.Sprint(from, " to ", number))
				_ = m.Reply(nil)
			})
		}
		defer n.Cut(1)
		p, err := n.Control(1, 2)
		if err != nil || p.Call(t.Context(), wire.TKVGet, nil, nil) != nil {
			t.Fatal(got, err)
		}
		if again, _ := n.Control(1, 2); again != p {
			t.Error("there are two connections")
		}
		if back, err := n.Control(2, 1); err != nil || back.Call(t.Context(), wire.TKVGet, nil, nil) != nil || strings.Join(got, ", ") != "1 to 2, 2 to 1" {
			t.Errorf("got %v, %v", got, err)
		}
		n.Cut(2)
		synctest.Wait()
		if p.Err() == nil {
			t.Error("the connection is open")
		}
		if again, err := n.Control(1, 2); err != nil || again == p {
			t.Errorf("the node cannot be reached again: %v", err)
		}
		n.Remove(2)
		if _, err := n.Control(1, 2); err == nil || !strings.Contains(err.Error(), "node 2 is dead") {
			t.Errorf("got %v", err)
		}
	})
}
