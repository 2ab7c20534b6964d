package nodeprocess

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// headAway is daemon.Options.HeadAway.
func (m *member) headAway() string {
	away := m.head.Alone()
	if away == 0 {
		return ""
	}
	return awayText(away, m.links.Trouble(m.heads.leading()))
}

// headInfos is daemon.Options.Heads. Nobody is asked for it: the head that leads tells when that changes, and the node knows with whom it has a connection.
func (m *member) headInfos() []wire.HeadInfo {
	return headInfos(m.heads, m.head.Alone() > 0, m.links.Trouble)
}

// headInfos joins what the head that leads has said with what this node sees itself. trouble is why the last attempt to reach a head has failed.
func headInfos(l *headList, alone bool, trouble func(number uint32) error) (list []wire.HeadInfo) {
	known, health := l.now()
	for _, h := range known.All {
		one := wire.HeadInfo{Number: h.Number, Addresses: h.Addresses, Role: wire.HeadOfUnknownRole}
		for _, said := range health {
			switch {
			case said.Number != h.Number:
				continue
			case said.Voter:
				one.Role = wire.HeadVotes
			default:
				one.Role = wire.HeadStandsBy
			}
			one.Why = said.Why
		}
		if known.Leads && h.Number == known.Leader && !alone {
			one.Role = wire.HeadLeads
		}
		if err := trouble(h.Number); err != nil && one.Why == "" {
			one.Why = fmt.Sprintf("this node has no connection with it (%v)", err)
		}
		list = append(list, one)
	}
	return list
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
	if len(heads) > 1 {
		return text + fmt.Sprintf("The cluster has %d heads, and goes on while a majority of them runs: `eagleray heads list` shows those that answer. Start the missing ones again. If most of them are lost for good, `eagleray heads recover` lets one that is left go on alone", len(heads))
	}
	return text + "Look whether the head's machine runs and can be reached from here, and start the program again when the head is back. " +
		"If it will not come back, end this node with `eagleray stop`, and join another head with `eagleray start --address`"
}
