package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Asked implements transport.ServedHost: it serves borrowers, and those who call us. The mutex is not held.
func (h *host) Asked(who ids.Owner, m *wire.Message) {
	var err error
	if m.Type == wire.TCancel {
		var q wire.Cancel
		if err = m.Decode(&q); err == nil {
			h.ServeCancel(&q, m)
		}
	} else {
		err = h.borrows.Hear(who, m)
	}
	if err != nil {
		_ = m.Fail(err)
	}
}

// Left implements transport.ServedHost: the process holds nothing of ours any more.
func (h *host) Left(who ids.Owner) { h.borrows.Left(who) }
