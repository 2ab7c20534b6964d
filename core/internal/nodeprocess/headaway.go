package nodeprocess

import (
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/process"
)

// headAway is daemon.Options.HeadAway.
func (m *member) headAway() string {
	away := m.head.Alone()
	if away == 0 {
		return ""
	}
	return awayText(away, m.links.Trouble(process.HeadNumber))
}

// awayText says for how long the head has not been heard, why, and what to do.
func awayText(away time.Duration, why error) string {
	text := fmt.Sprintf("nothing was heard of it for %v", away.Round(time.Second))
	if why != nil {
		text += fmt.Sprintf(" (%v)", why)
	}
	if errors.Is(why, link.ErrStranger) {
		return text + ". Another cluster is at its address now, and does not take this node in: `eagleray stop` ends the node here, and then `eagleray start --address` joins that cluster"
	}
	return text + ". What runs here goes on, and the node waits for it. If that head will not come back, end this node with `eagleray stop`"
}
