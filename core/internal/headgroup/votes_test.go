package headgroup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// heads reads a text such as "V s S - v": voters, standbys, not yet members; small letters are silent for long, L leads and votes, x lags, r is removed, W is to get a vote by hand, and M has got it so.
func played(text string) (list []Voter) {
	for i, c := range text {
		v := Voter{Number: uint32(i), ID: fmt.Sprint(i), Member: c != '-'}
		switch c {
		case 'L':
			v.Votes, v.Leads = true, true
		case 'K':
			v.Votes, v.Leads, v.Removed = true, true, true
		case 'V':
			v.Votes = true
		case 'v':
			v.Votes, v.Silent = true, ReplaceAfter
		case 'w': // silent for a short time
			v.Votes, v.Silent = true, ReplaceAfter/2
		case 's':
			v.Silent = ReplaceAfter
		case 'x':
			v.Lags = true
		case 'r':
			v.Votes, v.Removed = true, true
		case 'R':
			v.Removed = true
		case 'W':
			v.Wanted = true
		case 'M':
			v.Votes, v.Wanted = true, true
		}
		list = append(list, v)
	}
	return list
}

func TestDecide_Cases(t *testing.T) {
	for text, want := range map[string]string{
		"L":       "nothing",
		"LS":      "nothing", // two heads: one voter
		"L-":      "add 1",
		"LSS":     "promote 1",
		"LVS":     "promote 2",
		"LVV":     "nothing",
		"LVVS":    "nothing", // a standby waits
		"LVVSS":   "promote 3",
		"LVVVVSS": "nothing",
		"LVw":     "nothing",
		"LVwS":    "nothing", // silent for half a minute
		"LVvS":    "promote 3",
		"LVvV":    "demote 2",
		"LVv":     "nothing", // two of three have a majority
		"LVvx":    "nothing", // the standby has not caught up
		"LVvs":    "nothing",
		"LVVvv":   "demote 3",
		"LVVvs":   "demote 3",
		"LVVrS":   "remove 3",
		"KVV":     "hand over 1",
		"KS":      "promote 1",
		"K":       "nothing",
		"LVVR":    "remove 3",
		"LW":      "promote 1",
		"LxS":     "nothing",
		"LV":      "demote 1", // a third one has gone
		"LVVV":    "demote 3",
		"LVVVVV":  "demote 5",
		"LVVw":    "nothing", // the silent one may be back soon
		"LVVVS":   "promote 4",
		"LM":      "nothing", // its vote was given by hand
		"LMVV":    "demote 3",
		"LVVVVW":  "nothing", // five have a vote
		"LVVVvW":  "promote 5",
		"Lvr":     "nothing",
		"Lvr-":    "add 3",     // a removal that waits keeps no head from coming
		"LvrS":    "promote 3", // and one that comes lets it go
	} {
		got := "nothing"
		if step, v := Decide(played(text)); step != Nothing {
			got = fmt.Sprintf("%v %d", step, v.Number)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// From any state the steps come to an end, never take the leader's vote, and never leave the voters without a majority that is heard.
func TestDecide_ComesToAnEndWithAMajority(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	letters := []rune("VVSSvs-xrRWwM")
	for range 20_000 {
		text := "L"
		for range r.IntN(9) {
			text += string(letters[r.IntN(len(letters))])
		}
		list := played(text)
		heard := func() bool {
			votes, heard := 0, 0
			for _, v := range list {
				if v.Votes {
					votes++
					if v.heard() {
						heard++
					}
				}
			}
			return heard > votes/2
		}
		majority, steps := heard(), 0
		for ; ; steps++ {
			step, v := Decide(list)
			if step == Nothing {
				break
			}
			at := &list[v.Number]
			carryOut(list, step, at)
			at.Lags = at.Lags && step != Add
			if at.Leads && !at.Votes {
				t.Fatalf("%s: the leader has lost its vote by %v", text, step)
			}
			if majority && !heard() {
				t.Fatalf("%s: no majority is heard after %v of %d", text, step, v.Number)
			}
			if steps > 100 {
				t.Fatalf("%s: it does not come to an end", text)
			}
		}
		votes := 0
		for _, v := range list {
			if v.Votes {
				votes++
			}
		}
		well := !slices.ContainsFunc(list, func(v Voter) bool { return v.Votes && !v.heard() || v.Removed && v.Member || v.Wanted })
		if well && votes != 1 && votes != 3 && votes != 5 {
			t.Fatalf("%s: all answer, nothing is done by hand, and %d have a vote", text, votes)
		}
	}
}

// A removal begins only if it comes to its end with the heads as they are.
func TestRemovable_Cases(t *testing.T) {
	for text, want := range map[string]bool{
		"LV 1": true, "LV 0": true, "LS 0": true, "LS 1": true, "Lx 0": false,
		"LVw 1": false, "LVw 2": true, "LVw 0": false, "LVV 0": true, "LVwS 1": true, "LVwS 0": true, "LVwx 1": false,
		"LVVww 1": false, "LVVww 3": true, "LVVww 9": true, "L 0": false,
	} {
		text, number, _ := strings.Cut(text, " ")
		if got := removable(played(text), number); got != want {
			t.Errorf("%s without %s: %v, want %v", text, number, got, want)
		}
	}
}
