package core

import (
	"encoding/hex"
	"encoding/json"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Strategy says on which node the calls of a function or an actor run: Spread, OnNode, OnLabels, InGroup or Anywhere. Nil leaves it to the cluster.
type Strategy interface{ text() (string, error) }

type placed func() (string, error)

func (p placed) text() (string, error) { return p() }

// Spread uses nodes in turn.
func Spread() Strategy {
	return placed(func() (string, error) { return strategy.Strategy{Kind: strategy.Spread}.String(), nil })
}

// OnNode uses the node with the id, see Session.Nodes, and no other one. With soft other nodes do when that node is dead or too small.
func OnNode(id string, soft bool) Strategy {
	return placed(func() (string, error) {
		node, err := hex.DecodeString(id)
		if err != nil || len(node) != len(ids.Node{}) {
			return "", invalid("Strategy: OnNode(%q): the id of a node has %d hexadecimal digits, see Session.Nodes", id, 2*len(ids.Node{}))
		}
		return strategy.Strategy{Kind: strategy.Affinity, Node: ids.Node(node), Soft: soft}.String(), nil
	})
}

// OnLabels uses nodes whose labels the selector allows: each key must have the value, one of "in(a,b)", none of "!in(a,b)", or not be "!a". The
// alternatives do instead, in this order, while no node that the selector allows has room.
func OnLabels(selector map[string]string, alternatives ...map[string]string) Strategy {
	return placed(func() (string, error) {
		var all [][]map[string]string
		for _, one := range append([]map[string]string{selector}, alternatives...) {
			if len(one) == 0 {
				return "", invalid("Strategy: OnLabels: a selector is empty, which every node fits: leave it out")
			}
			all = append(all, []map[string]string{one})
		}
		b, err := json.Marshal(all)
		if err != nil {
			return "", invalid("Strategy: OnLabels: %v", err)
		}
		if _, err := labels.ParsePreferences(string(b)); err != nil {
			return "", invalid("Strategy: OnLabels: %v", err)
		}
		return strategy.Strategy{Labels: string(b)}.String(), nil
	})
}

// Anywhere leaves the node to the cluster, also where the code that calls works in a placement group that captures what it calls.
func Anywhere() Strategy {
	return placed(func() (string, error) { return strategyDefault, nil })
}

// strategyDefault is the text of the cluster's own choice.
const strategyDefault = "DEFAULT"

// strategy returns the text of the strategy for the function or actor that messages call by the name.
func (s *Session) strategy(o *Call, name string) (string, error) {
	if o.Strategy == nil {
		return s.captured(), nil
	}
	text, err := o.Strategy.text()
	if err != nil {
		return "", invalid("%s: %v", name, err)
	}
	return text, nil
}

// captured returns the strategy of what is called without one: the placement group in which this worker works, if that captures.
func (s *Session) captured() string {
	text, _ := s.inGroup.Load().(string)
	x, err := strategy.Parse(text)
	if err != nil || x.Kind != strategy.Group || !x.Capture {
		return strategyDefault
	}
	x.Bundle, x.Labels = strategy.AnyBundle, ""
	return x.String()
}
