package labels

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The bounds of preferences that another process has sent.
const (
	MaxText         = 16 << 10 // bytes of their text
	MaxAlternatives = 100
)

// Preferences are alternatives for the labels of a node, the best one first. Of an alternative all conditions must hold. Its text is a JSON array of arrays of objects:
// each object has conditions by the names of labels, and a name may be in several of them, as in
//
//	[[{"zone":"in(a,b)"},{"zone":"!a"}],[{"tier":"spot"}]]
//
// The zero value allows all nodes.
type Preferences struct{ alternatives [][]Selector }

// ParsePreferences reads a text. The error says what is wrong with it.
func ParsePreferences(text string) (p Preferences, err error) {
	if len(text) > MaxText {
		return p, fmt.Errorf("what is asked of labels has %d bytes, at most %d are allowed", len(text), MaxText)
	}
	var list [][]map[string]string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return p, fmt.Errorf("what is asked of labels, %.100q, cannot be read: %w", text, err)
	}
	if n := len(list); n == 0 || n > MaxAlternatives {
		return p, fmt.Errorf("labels have %d alternatives, 1 to %d are allowed", n, MaxAlternatives)
	}
	for _, objects := range list {
		all := []Selector{}
		for _, o := range objects {
			s, err := Parse(o)
			if err != nil {
				return Preferences{}, err
			}
			if !s.Empty() {
				all = append(all, s)
			}
		}
		p.alternatives = append(p.alternatives, all)
	}
	return p, nil
}

// Rank returns the first alternative that allows a node with these labels, from 0. It reports false if none does.
func (p Preferences) Rank(labels map[string]string) (rank int, ok bool) {
	if len(p.alternatives) == 0 {
		return 0, true
	}
	rank = slices.IndexFunc(p.alternatives, func(all []Selector) bool {
		return !slices.ContainsFunc(all, func(s Selector) bool { return !s.Matches(labels) })
	})
	return rank, rank >= 0
}

// String is what messages say, as in "zone=a, tier=!spot or zone=b".
func (p Preferences) String() string {
	var list []string
	for _, all := range p.alternatives {
		var told []string
		for _, s := range all {
			told = append(told, s.String())
		}
		if text := strings.Join(told, ", "); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, " or ")
}
