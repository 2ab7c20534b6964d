package headgroup

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/raftstate"
)

// Times of the leading head's look at the others.
const (
	lookEvery = 500 * time.Millisecond
	askLimit  = 2 * time.Second
	// keysPatience is for how long a silent head delays the replacement of the authority.
	keysPatience = 10 * time.Second
	maxLag       = 1024 // entries of the log that a head lacks which has caught up
)

// seen is what a leading head knows of the heads.
type seen struct {
	g     *Group
	r     *raftstate.Reign
	begun time.Time

	mu     sync.Mutex
	heard  map[string]time.Time
	last   map[string]linkmsg.Member
	asked  map[string]uint64 // what this head's state showed when the last question that was answered was asked
	behind map[string]bool   // its state does not show what this head's state showed before
	asking map[string]bool
	health []linkmsg.HeadHealth // as the nodes were told last
}

func newSeen(g *Group, r *raftstate.Reign) *seen {
	return &seen{
		g: g, r: r, begun: time.Now(), heard: map[string]time.Time{}, last: map[string]linkmsg.Member{}, asked: map[string]uint64{},
		behind: map[string]bool{}, asking: map[string]bool{},
	}
}

// Settle makes Raft's members follow the settings while this head leads, until the context ends.
func (g *Group) Settle(ctx context.Context, r *raftstate.Reign) {
	s := newSeen(g, r)
	g.setSeen(s)
	defer g.setSeen(nil)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		_, moved := g.o.Book.List()
		s.look(ctx)
		s.step(ctx)
		if s.healthChanged() {
			g.tell()
		}
		select {
		case <-moved:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (g *Group) setSeen(s *seen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = s
}

// Status returns what this head knows of the heads if it leads.
func (g *Group) Status() (list []linkmsg.HeadStatus, leads bool) {
	s := g.seenNow()
	if s == nil {
		return nil, false
	}
	stored, _ := s.r.Indexes()
	levels := map[string]int{}
	for _, e := range Entries(s.r.Member()) {
		levels[e.ID] = e.Level
	}
	for _, v := range s.voters() {
		h := linkmsg.HeadStatus{HeadAt: linkmsg.HeadAt{ID: v.ID, Number: v.Number}, Voter: v.Votes, Leads: v.Leads, Healthy: v.heard() && !v.Lags && v.Member}
		h.Addresses, h.Level = g.o.Book.Addresses(v.Number), max(levels[v.ID], 1)
		h.Stored = s.memberOf(v.ID).Stored
		if v.Leads {
			h.Stored = stored
		}
		if h.Why = v.trouble(); h.Why != "" && !v.heard() {
			h.Why = "it has not answered for " + v.Silent.Round(time.Second).String()
		}
		list = append(list, h)
	}
	return list, true
}

// trouble says why a head is not healthy; empty: it is.
func (v *Voter) trouble() string {
	switch {
	case v.Removed:
		return "it is being removed"
	case !v.Member:
		return "it is being added"
	case !v.heard():
		return "it does not answer"
	case v.Lags:
		return "it is catching up"
	}
	return ""
}

// now returns whether the heads are well.
func (s *seen) now() (list []linkmsg.HeadHealth) {
	for _, v := range s.voters() {
		list = append(list, linkmsg.HeadHealth{Number: v.Number, Voter: v.Votes, Why: v.trouble()})
	}
	return list
}

// healthChanged reports whether the nodes are to be told again whether the heads are well. Who begins to lead asks the others first.
func (s *seen) healthChanged() bool {
	health := s.now()
	silent := slices.ContainsFunc(health, func(h linkmsg.HeadHealth) bool { return h.Why != "" })
	if silent && time.Since(s.begun) < answersNow {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(health, s.health) {
		return false
	}
	s.health = health
	return true
}

// told returns whether the heads are well, as the nodes are told.
func (s *seen) told() []linkmsg.HeadHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}

// KeysWait returns, for the head that leads, the other heads that do not have the keyring with that version yet, without those that have been silent for
// so long that they are taken for gone: they ask for the keys when they come back. A head that does not lead does not know.
func (g *Group) KeysWait(version uint64) (list []uint32, known bool) {
	s := g.seenNow()
	if s == nil {
		return nil, false
	}
	for _, e := range Entries(g.state) {
		if e.ID != g.o.ID && !e.Removed && s.memberOf(e.ID).Keys < version && s.silence(e.ID) < keysPatience {
			list = append(list, e.Number)
		}
	}
	return list, true
}

// seenNow returns nil when this head does not lead, as far as it knows. While its disk does not answer it may have been replaced without a way to notice.
func (g *Group) seenNow() *seen {
	if g.stalled() || g.state.Leader() != g.o.ID {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

// look asks every other head how far it is. An answer may come later.
func (s *seen) look(ctx context.Context) {
	for _, e := range Entries(s.r.Member()) {
		if e.ID == s.g.o.ID || !s.begin(e.ID) {
			continue
		}
		p, err := s.g.o.Control(e.Number)
		if err != nil {
			s.end(e.ID, nil, 0)
			continue
		}
		_, shown := s.r.Indexes()
		s.g.goWork(func() {
			ctx, cancel := context.WithTimeout(ctx, askLimit)
			defer cancel()
			var m linkmsg.Member
			if err := p.Call(ctx, linkmsg.TMember, nil, &m); err != nil {
				s.end(e.ID, nil, 0)
				return
			}
			s.end(e.ID, &m, shown)
		})
	}
}

func (s *seen) begin(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking[id] {
		return false
	}
	s.asking[id] = true
	return true
}

// end takes a head's answer, nil for none, to a question that was asked when this head's state showed the log up to an index. The answer is compared with what was shown
// at the question before: what is committed in this moment takes a while to be heard of. A head that has just started knows only the state of its last snapshot, and so
// not what it lacks.
func (s *seen) end(id string, m *linkmsg.Member, shown uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asking, id)
	if m == nil {
		return
	}
	before, some := s.asked[id]
	if !some {
		before = shown
	}
	s.heard[id], s.last[id], s.behind[id], s.asked[id] = time.Now(), *m, m.Applied < before, shown
}

func (s *seen) isBehind(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind[id]
}

func (s *seen) memberOf(id string) linkmsg.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[id]
}

// silence returns how long a head has not answered. A leader counts from its own beginning on.
func (s *seen) silence(id string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, some := s.heard[id]
	if !some {
		return max(time.Since(s.begun), answersNow)
	}
	return time.Since(at)
}

// voters joins what the settings say, what Raft says and what the heads have answered.
func (s *seen) voters() (list []Voter) {
	votes := map[string]bool{}
	for _, m := range s.r.Members() {
		votes[m.ID] = m.Voter
	}
	stored, _ := s.r.Indexes()
	for _, e := range Entries(s.r.Member()) {
		v := Voter{Number: e.Number, ID: e.ID, Leads: e.ID == s.g.o.ID, Wanted: e.Voter, Removed: e.Removed}
		v.Votes, v.Member = votes[e.ID]
		if !v.Leads {
			v.Silent = s.silence(e.ID)
			m := s.memberOf(e.ID)
			v.Lags = m.Stored+maxLag < stored || m.Lacks > 0 || s.isBehind(e.ID)
		}
		list = append(list, v)
	}
	return list
}

// step makes one change of the members if there is one to make.
func (s *seen) step(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*askLimit)
	defer cancel()
	s.forgetRemoved(ctx)
	s.raise(ctx)
	step, v := Decide(s.voters())
	var err error
	switch step {
	case Nothing:
		return
	case Add:
		err = s.r.AddStandby(ctx, v.ID, v.ID)
	case Promote:
		err = s.r.Promote(ctx, v.ID)
	case Demote:
		err = s.r.Demote(ctx, v.ID)
	case Remove:
		err = s.r.Remove(ctx, v.ID)
	case HandOver:
		err = s.r.TransferTo(ctx, v.ID)
	}
	if err != nil {
		s.g.o.Log.Warn("the heads are not changed; it is tried again", "step", step.String(), "head", v.Number, "error", err)
		return
	}
	s.g.o.Log.Info("the heads have changed", "step", step.String(), "head", v.Number)
}

// forgetRemoved drops the settings of removed heads that are no members any more.
func (s *seen) forgetRemoved(ctx context.Context) {
	for _, v := range s.voters() {
		if v.Removed && !v.Member {
			err := s.g.o.Revoke(ctx, v.Number) // before the setting goes: without it nobody would try again
			if err == nil {
				err = s.r.DelSetting(ctx, SettingOf(v.ID))
			}
			if err != nil {
				s.g.o.Log.Warn("a removed head is not forgotten yet", "head", v.Number, "error", err)
			}
		}
	}
}
