package nodeprocess

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/link"
)

// headAway is daemon.Options.HeadAway.
func (m *member) headAway() string {
	away := m.head.Alone()
	if away == 0 {
		return ""
	}
	return awayText(away, m.links.Trouble(m.heads.leading()))
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

// silentAfter is how long a head that cannot be reached may say nothing. One that its warden starts again is back earlier.
const silentAfter = 5 * time.Second

// headSilent is daemon.Options.HeadSilent. A head that is heard and slow is none that does not answer.
func (m *member) headSilent() error {
	silence, trouble := m.head.Silence(), m.links.Trouble(m.heads.leading())
	if silence < silentAfter || trouble == nil && m.head.Alone() == 0 {
		return nil
	}
	return fault.New(fault.HeadUnavailable, "%s", silentText(m.conf.Heads, silence, trouble))
}

// silentText says which head has not answered for how long, why, and what somebody does who wants to start a program. No heads: it is
// on this machine.
func silentText(heads []string, silence time.Duration, why error) string {
	at := "on this machine"
	if len(heads) > 0 {
		at = "at " + strings.Join(heads, ", ")
	}
	text := fmt.Sprintf("the head of the cluster, %s, has not answered for %v", at, silence.Round(time.Second))
	if why != nil {
		text += fmt.Sprintf(" (%v)", why)
	}
	text += ", and a program cannot start without it. "
	switch {
	case errors.Is(why, link.ErrStranger):
		return text + "Another cluster is at its address now, and does not take this node in: `eagleray stop` ends the node here, and then `eagleray start --address` joins that cluster"
	case len(heads) == 0:
		return text + "Look at logs/head.log in the session's folder. If the head does not come back, end this node with `eagleray stop`, and begin a cluster with `eagleray start --head`"
	}
	return text + "Look whether the head's machine runs and can be reached from here, and start the program again when the head is back. " +
		"If it will not come back, end this node with `eagleray stop`, and join another head with `eagleray start --address`"
}
