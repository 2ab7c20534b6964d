package headgroup

import (
	"cmp"
	"slices"
	"time"
)

// Voter is a head, as the leading head sees it when it decides who has a vote.
type Voter struct {
	Number  uint32
	ID      string
	Member  bool          // Raft has it among the members
	Votes   bool          // it is a voter
	Leads   bool          // it is the head that decides
	Silent  time.Duration // how long it has not answered
	Lags    bool          // it has not nearly all of the log, its state is behind the log, or it lacks large values
	Wanted  bool          // somebody has given it a vote by hand
	Removed bool          // somebody has removed it
}

// Bounds of the decision.
const (
	maxVoters  = 5
	answersNow = 5 * time.Second // a head is heard that has answered not longer ago
	// ReplaceAfter is after how much silence a standby takes a voter's place.
	ReplaceAfter = 60 * time.Second
)

// Step is one change of Raft's members. One is made at a time, because each has to be committed by those who vote before it.
type Step int

// The steps.
const (
	Nothing  Step = iota
	Add           // as a standby
	Promote       // a standby becomes a voter
	Demote        // a voter becomes a standby
	Remove        // a member is one no longer
	HandOver      // another voter leads first
)

func (s Step) String() string {
	return [...]string{"nothing", "add", "promote", "demote", "remove", "hand over"}[s]
}

func (v *Voter) heard() bool { return v.Silent < answersNow }
func (v *Voter) ready() bool { return v.Member && !v.Votes && !v.Removed && v.heard() && !v.Lags }

// Decide says what to change, and of which head. There should be 1, 3 or 5 voters, all of them heads that are heard. Two heads have one voter: a second one would
// make it more likely, and not less, that there is no majority. A voter that is silent keeps its vote until a standby can take it, or until there
// are more than three voters without need. Who has got a vote by hand keeps it as long as it is heard, also when the number is even then; but there are never more than five heard voters.
func Decide(heads []Voter) (Step, *Voter) {
	list := make([]*Voter, len(heads))
	for i := range heads {
		list[i] = &heads[i]
	}
	slices.SortFunc(list, func(a, b *Voter) int { return cmp.Compare(a.Number, b.Number) })
	for _, v := range list {
		if v.Removed && v.Member { // one that cannot go yet must not keep others from coming that let it go
			if step, of := stepOfRemoval(list, v); step != Nothing {
				return step, of
			}
		}
	}
	if v := first(list, func(v *Voter) bool { return !v.Member && !v.Removed }); v != nil {
		return Add, v
	}
	if v := first(list, func(v *Voter) bool { return v.Wanted && v.ready() }); v != nil && roomForVote(list) {
		return Promote, v
	}
	return balance(list)
}

// balance brings the number of voters to what it should be.
func balance(list []*Voter) (Step, *Voter) {
	votes, heard, lost := 0, 0, 0
	for _, v := range list {
		switch {
		case v.Votes && v.Silent >= ReplaceAfter:
			votes, lost = votes+1, lost+1
		case v.Votes:
			votes, heard = votes+1, heard+1
		case v.ready():
			heard++
		}
	}
	want := min(heard-(heard+1)%2, maxVoters) // the largest odd number
	ready := first(list, func(v *Voter) bool { return v.ready() })
	silent := first(list, func(v *Voter) bool { return v.Votes && v.Silent >= ReplaceAfter })
	switch {
	case ready != nil && votes-lost < want:
		return Promote, ready
	case silent != nil && votes > max(want, 3):
		return Demote, silent
	case votes > want && !slices.ContainsFunc(list, func(v *Voter) bool { return v.Removed && v.Member || v.Votes && !v.heard() }): // one that is silent may be back soon
		if i := lastIndex(list, func(v *Voter) bool { return v.Votes && !v.Leads && !v.Wanted }); i >= 0 {
			return Demote, list[i]
		}
	}
	return Nothing, nil
}

// roomForVote reports whether one more head may have a vote. Those that are lost do not count: they lose theirs when another one has come.
func roomForVote(list []*Voter) bool {
	votes := 0
	for _, v := range list {
		if v.Votes && v.Silent < ReplaceAfter {
			votes++
		}
	}
	return votes < maxVoters
}

// stepOfRemoval removes a head, if need be after another one leads.
func stepOfRemoval(list []*Voter, v *Voter) (Step, *Voter) {
	if !v.Leads && (!v.Votes || majorityWithout(list, v)) {
		return Remove, v
	}
	if !v.Leads { // those who stay could decide nothing without it
		if next := first(list, func(v *Voter) bool { return v.ready() }); next != nil {
			return Promote, next
		}
		return Nothing, nil
	}
	next := first(list, func(v *Voter) bool { return v.Votes && !v.Leads && !v.Removed && v.heard() && !v.Lags })
	if next == nil {
		next = first(list, func(v *Voter) bool { return v.ready() })
		if next == nil {
			return Nothing, nil // it is the only head
		}
		return Promote, next
	}
	return HandOver, next
}

// removable reports whether a head that is to be removed would be a member no more after the steps that follow, if all heads stay as they are.
func removable(heads []Voter, id string) bool {
	list := slices.Clone(heads)
	is := slices.IndexFunc(list, func(v Voter) bool { return v.ID == id })
	if is < 0 {
		return true
	}
	for list[is].Removed = true; list[is].Member; {
		step, v := Decide(list)
		if step == Nothing {
			return false
		}
		carryOut(list, step, v)
	}
	return true
}

// carryOut makes a step as Raft would.
func carryOut(list []Voter, step Step, v *Voter) {
	switch step {
	case Add:
		v.Member = true
	case Promote:
		v.Votes = true
	case Demote:
		v.Votes = false
	case Remove:
		v.Member, v.Votes = false, false
	case HandOver:
		for i := range list {
			list[i].Leads = false
		}
		v.Leads = true
	}
}

// majorityWithout reports whether most of the voters besides one are heard.
func majorityWithout(list []*Voter, without *Voter) bool {
	votes, heard := 0, 0
	for _, v := range list {
		if v != without && v.Votes {
			votes++
			if v.heard() {
				heard++
			}
		}
	}
	return heard > votes/2
}

func lastIndex(list []*Voter, is func(*Voter) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if is(list[i]) {
			return i
		}
	}
	return -1
}

func first(list []*Voter, is func(*Voter) bool) *Voter {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}
