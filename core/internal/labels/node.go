package labels

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
)

// NodeID is the label that all nodes have: the node's id.
const NodeID = "ray.io/node-id"

// WithID returns the labels of a node with the one that all nodes have.
func WithID(given map[string]string, node ids.Node) map[string]string {
	all := maps.Clone(given)
	if all == nil {
		all = make(map[string]string, 1)
	}
	all[NodeID] = node.String()
	return all
}

// What a label may be, as in Kubernetes and in Ray.
const (
	maxLabel  = 63  // bytes of a value, or of a key without its prefix
	maxPrefix = 253 // bytes of a key's prefix
)

// isWord says whether a text is a part of a key, or a value: letters, digits and, between them, dashes, underscores
// and dots.
func isWord(text string, most int) bool {
	for i, r := range text {
		inside := i > 0 && i < len(text)-1
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
		case inside && strings.ContainsRune("-_.", r):
		default:
			return false
		}
	}
	return text != "" && len(text) <= most
}

// IsValue reports whether a text can be the value of a label.
func IsValue(text string) bool { return text == "" || isWord(text, maxLabel) }

// Check checks the labels that a node is given: keys, which are [prefix/]name, and values.
func Check(labels map[string]string) error {
	const form = "letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		name := key
		if at := strings.LastIndexByte(key, '/'); at >= 0 {
			prefix := key[:at]
			name = key[at+1:]
			if !isWord(prefix, maxPrefix) {
				return fmt.Errorf("the prefix of the label %.300q must have at most %d %s", key, maxPrefix, form)
			}
		}
		if !isWord(name, maxLabel) {
			return fmt.Errorf("the name of the label %.300q must have at most %d %s", key, maxLabel, form)
		}
		if v := labels[key]; !IsValue(v) {
			return fmt.Errorf("the value %.100q of the label %q must have at most %d %s", v, key, maxLabel, form)
		}
		if key == NodeID {
			return fmt.Errorf("the label %q is reserved: each node has it with its own id", key)
		}
	}
	return nil
}
