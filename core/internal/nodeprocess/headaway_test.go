package nodeprocess

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

func TestAwayText_SaysWhyAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		why  error
		want []string
	}{
		{nil, []string{"nothing was heard of it for 7s. What runs here goes on"}},
		{errors.New("connection refused"), []string{"for 7s (connection refused). What runs here goes on", "`eagleray stop`"}},
		{fmt.Errorf("at x: %w", link.ErrStranger), []string{"Another cluster is at its address now", "`eagleray start --address`"}},
	} {
		got := awayText(7100*time.Millisecond, c.why)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q has no %q", c.why, got, want)
			}
		}
	}
}

func TestSilentText_NamesTheHeadAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		heads []string
		why   error
		want  []string
	}{
		{[]string{"10.0.0.1:6379"}, errors.New("connection refused"), []string{"the head of the cluster, at 10.0.0.1:6379, has not answered for 31s (connection refused), and", "`eagleray stop`", "`eagleray start --address`"}},
		{[]string{"a:1", "b:1"}, nil, []string{"at a:1, b:1, has not answered for 31s, and"}},
		{nil, nil, []string{"on this machine, has not answered for 31s, and", "logs/head.log", "`eagleray start --head`"}},
		{[]string{"a:1"}, fmt.Errorf("at x: %w", link.ErrStranger), []string{"Another cluster is at its address now"}},
	} {
		got := silentText(c.heads, 31100*time.Millisecond, c.why)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q has no %q", c.why, got, want)
			}
		}
	}
}

func TestHeadInfos_WhatIsKnown_IsToldWithoutAQuestion(t *testing.T) {
	at := func(n uint32) linkmsg.HeadAt {
		return linkmsg.HeadAt{ID: fmt.Sprint("h", n), Number: n, Addresses: []string{fmt.Sprintf("10.0.0.%d:6379", n)}}
	}
	all := []linkmsg.HeadAt{at(0), at(2), at(5), at(9)}
	l := newHeadList("", nil, linkmsg.Heads{From: 0, Leads: true, Term: 3, All: all})
	broken := map[uint32]error{}
	look := func(alone bool) (texts []string) {
		for _, h := range headInfos(l, alone, func(n uint32) error { return broken[n] }) {
			texts = append(texts, fmt.Sprintf("%s %d %s %s", h.Role, h.Number, h.Addresses[0], h.Why))
		}
		return texts
	}
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, must be %q", what, got, want)
		}
	}
	health := []linkmsg.HeadHealth{{Number: 0, Voter: true}, {Number: 2, Voter: true, Why: "it does not answer"}, {Number: 5, Voter: true}, {Number: 9}}
	check("before the leader has said it", look(false), "leader 0 10.0.0.0:6379 ", "head 2 10.0.0.2:6379 ", "head 5 10.0.0.5:6379 ", "head 9 10.0.0.9:6379 ")
	l.heard(linkmsg.Heads{From: 0, Leads: true, Term: 3, All: all, Health: health})
	l.heard(linkmsg.Heads{From: 5, Leads: true, Term: 3, All: all}) // a head that follows knows nothing of health
	broken[2], broken[5] = errors.New("refused"), errors.New("no route")
	check("what the leader has said", look(false), "leader 0 10.0.0.0:6379 ", "voter 2 10.0.0.2:6379 it does not answer", "voter 5 10.0.0.5:6379 this node has no connection with it (no route)", "standby 9 10.0.0.9:6379 ")
	check("nobody is heard", look(true)[:1], "voter 0 10.0.0.0:6379 ")
	l.heard(linkmsg.Heads{From: 9, Leads: true, Leader: 5, Term: 4, All: all})
	check("another one leads, and has said nothing", look(false), "head 0 10.0.0.0:6379 ", "head 2 10.0.0.2:6379 this node has no connection with it (refused)", "leader 5 10.0.0.5:6379 this node has no connection with it (no route)", "head 9 10.0.0.9:6379 ")
}
