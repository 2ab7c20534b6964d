package headgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/raftstate"
)

// AddHead notes a further head in the state, from which the leading head takes it into Raft's group. It returns the head's number, which is
// the one that it has had before if it has joined already.
func (g *Group) AddHead(ctx context.Context, at linkmsg.HeadAt) (uint32, error) {
	if err := checkLevel(at, g.state.Level()); err != nil {
		return 0, err
	}
	if err := g.state.Fresh(ctx); err != nil { // an older state may not have a head that has joined already
		return 0, err
	}
	e := Entry{HeadAt: at}
	if b, known := g.state.Setting(SettingOf(at.ID)); known {
		old, err := ParseEntry(b)
		if err != nil {
			return 0, err
		}
		if old.Removed {
			return 0, fault.New(fault.BadRequest, "head %d is being removed from the cluster, so it cannot join. Start it with a new folder for its state (--state-dir), and it joins as a new head; keep the old one until `eagleray heads list` shows it", old.Number)
		}
		e.Number, e.Voter = old.Number, old.Voter
	} else {
		if n := len(Entries(g.state)); n >= linkmsg.MaxHeads {
			return 0, fault.New(fault.BadRequest, "the cluster has %d heads already, and more than %d have no use: five can vote, and the others wait for a place. `eagleray heads list` shows them, `eagleray heads remove` removes one", n, linkmsg.MaxHeads)
		}
		var err error
		if e.Number, err = g.state.NodeNumber(ctx, ids.NewNode()); err != nil {
			return 0, err
		}
	}
	b, err := e.Encode()
	if err != nil {
		return 0, err
	}
	return e.Number, g.state.PutSetting(ctx, SettingOf(at.ID), b)
}

// Has reports whether a head belongs to the cluster. That it does is said as far as this head knows. That a head has never joined, or is forgotten, is said after a fresh
// read only: the state of this head may be older than that head. One that is being removed belongs to it until the others do without it, and has to be let in until then.
func (g *Group) Has(ctx context.Context, at linkmsg.HeadAt) (bool, error) {
	if has, known := g.hasNow(at); known {
		return has, nil
	}
	if number, known := g.o.Book.Number(at.ID); known && number == at.Number {
		return true, nil
	}
	if err := g.state.Fresh(ctx); err != nil {
		return false, fmt.Errorf("this head does not know whether head %d belongs to the cluster: %w", at.Number, err)
	}
	has, _ := g.hasNow(at)
	return has, nil
}

// hasNow returns what the state says of a head as it is.
func (g *Group) hasNow(at linkmsg.HeadAt) (has, known bool) {
	b, known := g.state.Setting(SettingOf(at.ID))
	if !known {
		return false, false
	}
	e, err := ParseEntry(b)
	return err == nil && e.Number == at.Number, true
}

// Change does what an administrator wants. It reports false, without an error, if only the head that leads can do it.
func (g *Group) Change(ctx context.Context, what linkmsg.HeadChange, number uint32, given bool) (done bool, err error) {
	s := g.seenNow()
	if s == nil {
		return false, nil
	}
	var e *Entry
	for _, x := range Entries(g.state) {
		if given && x.Number == number {
			e = &x
		}
	}
	if e == nil && (given || what != linkmsg.HeadTransfer) {
		return false, fault.New(fault.BadRequest, "the cluster has no head %d: `eagleray heads list` shows the heads and their numbers", number)
	}
	switch what {
	case linkmsg.HeadTransfer:
		err = s.transfer(ctx, e)
	case linkmsg.HeadVote:
		err = s.give(ctx, e)
	case linkmsg.HeadRemove:
		err = s.remove(ctx, e)
	default:
		return false, fault.New(fault.BadRequest, "this head does not know the change %.40q", what)
	}
	if errors.Is(err, raftstate.ErrDeposed) {
		return false, nil
	}
	return err == nil, err
}

// others counts the heads that stay when one goes.
func others(s Settings, id string) (n int) {
	for _, e := range Entries(s) {
		if e.ID != id && !e.Removed {
			n++
		}
	}
	return n
}

// put changes what the state says of a head.
func (s *seen) put(ctx context.Context, e *Entry) error {
	b, err := e.Encode()
	if err != nil {
		return err
	}
	return s.r.PutSetting(ctx, SettingOf(e.ID), b)
}

// remove begins the removal of a head, if the heads that stay can carry it out as they are now.
func (s *seen) remove(ctx context.Context, e *Entry) error {
	if e.Removed {
		return nil // it is under way
	}
	if others(s.r.Member(), e.ID) == 0 {
		return fault.New(fault.BadRequest, "head %d is the only head: the cluster ends with it. `eagleray stop` on its machine stops it", e.Number)
	}
	s.awaitAnswers(ctx)
	if heads := s.voters(); !removable(heads, e.ID) {
		return fault.New(fault.BadRequest, "head %d is not removed, because the heads that stay could not go on without it. Not healthy: %s. Start those that are down, and wait until they are healthy (`eagleray heads list`), or remove first those that are lost for good", e.Number, troubles(heads, e.ID))
	}
	e.Removed = true
	return s.put(ctx, e)
}

// awaitAnswers waits until the others have answered, if this head leads since a moment ago only: it asks them first.
func (s *seen) awaitAnswers(ctx context.Context) {
	tick := time.NewTicker(lookEvery / 10)
	defer tick.Stop()
	for time.Since(s.begun) < answersNow && slices.ContainsFunc(s.voters(), func(v Voter) bool { return !v.heard() }) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// troubles says which heads besides one are not well.
func troubles(heads []Voter, but string) string {
	var list []string
	for _, v := range heads {
		if why := v.trouble(); v.ID != but && why != "" {
			list = append(list, fmt.Sprintf("head %d (%s)", v.Number, why))
		}
	}
	return strings.Join(list, ", ")
}

// give gives a head a vote. It gets that when it has caught up.
func (s *seen) give(ctx context.Context, e *Entry) error {
	if e.Removed {
		return fault.New(fault.BadRequest, "head %d is being removed, so it gets no vote", e.Number)
	}
	var list []*Voter
	votes := false
	for _, v := range s.voters() {
		list = append(list, &v)
		votes = votes || v.ID == e.ID && v.Votes
	}
	if !votes && !roomForVote(list) {
		return fault.New(fault.BadRequest, "head %d gets no vote, because %d heads have one, and more make every change slower and nothing safer. `eagleray heads remove` removes one of them; then a standby gets its vote by itself", e.Number, maxVoters)
	}
	e.Voter = true
	return s.put(ctx, e)
}

// transfer has another head lead.
func (s *seen) transfer(ctx context.Context, e *Entry) error {
	s.awaitAnswers(ctx)
	voters := 0
	for _, v := range s.voters() {
		switch {
		case v.Votes && v.heard() && !v.Leads:
			voters++
		case e != nil && v.ID == e.ID && v.Leads:
			return nil // it leads already
		}
		if e == nil || v.ID != e.ID {
			continue
		}
		switch {
		case v.Removed:
			return fault.New(fault.BadRequest, "head %d is being removed, so it cannot lead", v.Number)
		case !v.Votes:
			return fault.New(fault.BadRequest, "head %d has no vote, so it cannot lead: `eagleray heads add %d` gives it one", v.Number, v.Number)
		case !v.heard():
			return fault.New(fault.BadRequest, "head %d does not answer, so it cannot lead. Start it on its machine, or name another head (`eagleray heads list`)", v.Number)
		}
	}
	if voters == 0 {
		return fault.New(fault.BadRequest, "no other head with a vote answers, so none can lead")
	}
	if e == nil {
		return s.r.TransferTo(ctx, "")
	}
	return s.r.TransferTo(ctx, e.ID)
}
