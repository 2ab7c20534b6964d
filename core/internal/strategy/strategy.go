package strategy

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
)

// Kind is how a node is chosen.
type Kind int

// The kinds. Default is the zero value.
const (
	Default  Kind = iota // nodes are filled to half, and then the emptiest one is used
	Spread               // the node that was used least for the same function
	Affinity             // one named node
)

// Strategy says on which node work runs.
type Strategy struct {
	Kind Kind
	Node ids.Node // of Affinity
	Soft bool     // of Affinity: other nodes do when the named one is dead, unknown or too small
}

// The texts of strategies.
const (
	textDefault = "DEFAULT"
	textSpread  = "SPREAD"
	prefixNode  = "node:"
	suffixSoft  = ":soft"
)

// Parse reads a text. The error says what is wrong with it.
func Parse(text string) (s Strategy, err error) {
	switch text {
	case "", textDefault:
		return s, nil
	case textSpread:
		return Strategy{Kind: Spread}, nil
	}
	name, ok := strings.CutPrefix(text, prefixNode)
	if !ok {
		return s, fmt.Errorf("scheduling strategy %.100q is not known: DEFAULT, SPREAD, node:HEX and node:HEX:soft are", text)
	}
	name, soft := strings.CutSuffix(name, suffixSoft)
	id, err := hex.DecodeString(name)
	if err != nil || len(id) != len(s.Node) {
		return s, fmt.Errorf("scheduling strategy %.100q names no node: ids of nodes have %d hexadecimal digits", text, 2*len(s.Node))
	}
	return Strategy{Kind: Affinity, Node: ids.Node(id), Soft: soft}, nil
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
	switch {
	case s.Kind == Spread:
		return textSpread
	case s.Kind == Affinity && s.Soft:
		return prefixNode + s.Node.String() + suffixSoft
	case s.Kind == Affinity:
		return prefixNode + s.Node.String()
	}
	return textDefault
}
