package strategy

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
)

// Kind is how a node is chosen.
type Kind int

// The kinds. Default is the zero value.
const (
	Default  Kind = iota // nodes are filled to half, and then the emptiest one is used
	Spread               // the node that was used least for the same function
	Affinity             // one named node
	Group                // a bundle of a placement group
)

// Strategy says on which node work runs.
type Strategy struct {
	Kind Kind
	Node ids.Node // of Affinity
	Soft bool     // of Affinity: other nodes do when the named one is dead, unknown or too small
	Busy Busy     // of Affinity: what is done when the named node has had no room for Patience

	Group   ids.Group // of Group
	Bundle  int       // of Group: the index of a bundle, or AnyBundle
	Capture bool      // of Group: what runs there gives the group to what it creates

	Labels string // what is asked of the labels of the node, as labels.ParsePreferences reads it; "": nothing
}

// Busy is what is done with work whose node has no room for it.
type Busy int

// What is done. Spills is for work with Soft only, and Fails for work without.
const (
	Waits  Busy = iota // the work waits for room
	Spills             // the work runs on another node
	Fails              // the work fails
)

// Patience is how long work that spills or fails waits for room on its node. Meanwhile leases without work come back.
const Patience = 500 * time.Millisecond

// The texts of strategies.
const (
	textDefault   = "DEFAULT"
	textSpread    = "SPREAD"
	prefixNode    = "node:"
	suffixSoft    = ":soft"
	suffixSpill   = ":spill"
	suffixFail    = ":fail"
	prefixGroup   = "group:"
	suffixCapture = ":capture"
	beforeLabels  = " labels:"
)

// Parse reads a text. The error says what is wrong with it.
func Parse(text string) (s Strategy, err error) {
	text, asked, asks := strings.Cut(text, beforeLabels)
	if asks {
		if _, err := labels.ParsePreferences(asked); err != nil {
			return s, fmt.Errorf("scheduling strategy: %w", err)
		}
	}
	if s, err = parse(text); err == nil {
		s.Labels = asked
	}
	return s, err
}

// parse reads a text without labels.
func parse(text string) (s Strategy, err error) {
	switch text {
	case "", textDefault:
		return s, nil
	case textSpread:
		return Strategy{Kind: Spread}, nil
	}
	if name, ok := strings.CutPrefix(text, prefixGroup); ok {
		return parseGroup(text, name)
	}
	name, ok := strings.CutPrefix(text, prefixNode)
	if !ok {
		return s, fmt.Errorf("scheduling strategy %.100q is not known: DEFAULT, SPREAD, node:HEX, node:HEX:fail, node:HEX:soft, node:HEX:soft:spill and group:HEX:INDEX are", text)
	}
	s.Kind = Affinity
	if name, ok = strings.CutSuffix(name, suffixFail); ok {
		s.Busy = Fails
	} else if name, ok = strings.CutSuffix(name, suffixSoft+suffixSpill); ok {
		s.Soft, s.Busy = true, Spills
	} else {
		name, s.Soft = strings.CutSuffix(name, suffixSoft)
	}
	id, err := hex.DecodeString(name)
	if err != nil || len(id) != len(s.Node) {
		return Strategy{}, fmt.Errorf("scheduling strategy %.100q names no node: ids of nodes have %d hexadecimal digits", text, 2*len(s.Node))
	}
	s.Node = ids.Node(id)
	return s, nil
}

// AnyBundle is a Strategy.Bundle that stands for all bundles of the group.
const AnyBundle = -1

// maxBundle is the largest index of a bundle that a text can have.
const maxBundle = 1 << 20

func parseGroup(text, rest string) (s Strategy, err error) {
	rest, capture := strings.CutSuffix(rest, suffixCapture)
	name, index, _ := strings.Cut(rest, ":")
	id, err := hex.DecodeString(name)
	if err != nil || len(id) != len(s.Group) {
		return s, fmt.Errorf("scheduling strategy %.100q names no placement group: ids of placement groups have %d hexadecimal digits", text, 2*len(s.Group))
	}
	bundle, err := strconv.Atoi(index)
	if err != nil || bundle < AnyBundle || bundle > maxBundle {
		return s, fmt.Errorf("scheduling strategy %.100q names no bundle: its index is 0 or more, or -1 for any bundle", text)
	}
	return Strategy{Kind: Group, Group: ids.Group(id), Bundle: bundle, Capture: capture}, nil
}

// GroupOf returns the placement group in which work with the strategy runs. It reports false for a text of another strategy.
func GroupOf(text string) (id ids.Group, is bool) {
	if !strings.HasPrefix(text, prefixGroup) {
		return id, false
	}
	s, err := Parse(text)
	return s.Group, err == nil
}

// WhyBusy says in words why a task or an actor fails whose node has no room for it.
func (s Strategy) WhyBusy(who, needs string) string {
	return fmt.Sprintf("%s must run on node %s at once (NodeAffinitySchedulingStrategy with _fail_on_unavailable=True), which has no room for %s now. Try again later, or leave _fail_on_unavailable out, so that it waits for room.", who, s.Node, needs)
}

// Wishes returns what is asked of the labels of the node.
func (s Strategy) Wishes() labels.Preferences {
	if s.Labels == "" {
		return labels.Preferences{}
	}
	p, err := labels.ParsePreferences(s.Labels)
	if err != nil { // Parse has read it
		panic("strategy: " + err.Error())
	}
	return p
}

// Text is the text of a strategy in records: the default has none.
func (s Strategy) Text() string {
	if s == (Strategy{}) {
		return ""
	}
	return s.String()
}

// String is the text of a strategy.
func (s Strategy) String() string {
	if s.Labels != "" {
		asked := s.Labels
		s.Labels = ""
		return s.String() + beforeLabels + asked
	}
	switch {
	case s.Kind == Spread:
		return textSpread
	case s.Kind == Affinity && s.Busy == Spills:
		return prefixNode + s.Node.String() + suffixSoft + suffixSpill
	case s.Kind == Affinity && s.Busy == Fails:
		return prefixNode + s.Node.String() + suffixFail
	case s.Kind == Affinity && s.Soft:
		return prefixNode + s.Node.String() + suffixSoft
	case s.Kind == Affinity:
		return prefixNode + s.Node.String()
	case s.Kind == Group && s.Capture:
		return prefixGroup + s.Group.String() + ":" + strconv.Itoa(s.Bundle) + suffixCapture
	case s.Kind == Group:
		return prefixGroup + s.Group.String() + ":" + strconv.Itoa(s.Bundle)
	}
	return textDefault
}
