// Package labels reads what is asked of the labels of a node: a condition for each of some names, all of which must hold. Conditions have Ray's texts:
//
//	a          the label has the value a
//	!a         it has another value, or the node has no such label
//	in(a,b)    it has one of these values
//	!in(a,b)   it has none of these values, or the node has no such label
//
// and two that Ray has no text for: "*" for a node that has the label, with any value, and "!*" for one that does not have it.
//
// A Selector is made by Parse, Preferences are made by ParsePreferences, and neither changes.
package labels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The bounds of a selector that another process has sent.
const (
	MaxConditions = 100
	maxBytes      = 4096 // of one condition
)

// Of names, an optional domain comes before a slash.
var (
	nameForm  = regexp.MustCompile(`^([a-zA-Z0-9]([-_.a-zA-Z0-9]{0,251}[a-zA-Z0-9])?/)?[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)
	valueForm = regexp.MustCompile(`^[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)
)

// anyValue is the condition that a node has a label.
const anyValue = "*"

type condition struct {
	name   string
	values []string // nil: any
	not    bool
}

// Selector is what is asked of a node's labels. The zero value asks nothing.
type Selector struct {
	conditions []condition
	text       string
}

// Parse reads conditions by the names of labels. The error says which one is wrong, and why.
func Parse(texts map[string]string) (s Selector, err error) {
	if len(texts) > MaxConditions {
		return s, fmt.Errorf("%d labels are asked for, at most %d are allowed", len(texts), MaxConditions)
	}
	var told []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		if !nameForm.MatchString(name) {
			return s, fmt.Errorf("label %.100q: a name has letters, digits, '-', '_' and '.', 63 characters at most, and may have a domain and a slash before it", name)
		}
		c, err := parse(text)
		if err != nil {
			return s, fmt.Errorf("label %s: %w", name, err)
		}
		c.name = name
		s.conditions = append(s.conditions, c)
		told = append(told, name+"="+text)
	}
	s.text = strings.Join(told, ", ")
	return s, nil
}

func parse(text string) (c condition, err error) {
	if len(text) > maxBytes {
		return c, fmt.Errorf("a condition of %d bytes, at most %d are allowed", len(text), maxBytes)
	}
	rest, not := strings.CutPrefix(text, "!")
	c.not = not
	if rest == anyValue {
		return c, nil
	}
	if list, ok := strings.CutPrefix(rest, "in("); ok && strings.HasSuffix(list, ")") {
		for v := range strings.SplitSeq(strings.TrimSuffix(list, ")"), ",") {
			c.values = append(c.values, strings.TrimSpace(v))
		}
	} else {
		c.values = []string{rest}
	}
	for _, v := range c.values {
		if text == "" { // a label may have the empty value
			break
		}
		if !valueForm.MatchString(v) {
			return c, fmt.Errorf("condition %.100q: it is a, !a, in(a,b) or !in(a,b), where values have letters, digits, '-', '_' and '.', 63 characters at most", text)
		}
	}
	return c, nil
}

// Empty reports whether nothing is asked.
func (s Selector) Empty() bool { return len(s.conditions) == 0 }

// Matches reports whether a node with these labels is one that is asked for.
func (s Selector) Matches(labels map[string]string) bool {
	for _, c := range s.conditions {
		value, has := labels[c.name]
		if in := has && (c.values == nil || slices.Contains(c.values, value)); in == c.not {
			return false
		}
	}
	return true
}

// String is what messages say: the conditions in the order of their names.
func (s Selector) String() string { return s.text }
