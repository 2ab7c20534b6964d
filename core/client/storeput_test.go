package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A store that gives less room than was asked for is not written to.
func TestCreate_LessRoomThanAsked_IsRefused(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	given := uint64(100)
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		_ = m.Reply(wire.ObjPlace{Offset: 4096, Size: given})
		return true
	})
	for _, x := range []struct {
		size int
		ok   bool
	}{{99, true}, {100, true}, {101, false}} {
		_, err := c.create(ids.NewObject(7, c.self, c.info.Job, 1), x.size, false, false, nil)
		if (err == nil) != x.ok || err != nil && !strings.Contains(err.Error(), "gave 100 of 101 bytes") {
			t.Errorf("%d bytes: %v", x.size, err)
		}
	}
}
