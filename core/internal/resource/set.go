package resource

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPU is the resource that a blocked task gives back.
const CPU = "CPU"

// Set holds amounts by resource name. A name with the amount zero means the
// same as no name.
type Set map[string]Amount

// FromFloats turns quantities into a set; an error names the resource.
func FromFloats(m map[string]float64) (Set, error) {
	s := make(Set, len(m))
	for _, name := range sortedNames(m) {
		a, err := FromFloat(m[name])
		if err != nil {
			return nil, fmt.Errorf("the quantity of resource %s: %w", name, err)
		}
		s[name] = a
	}
	return s, nil
}

// FromWire copies amounts that came in a message.
func FromWire(m map[string]int64) Set {
	s := make(Set, len(m))
	for name, a := range m {
		s[name] = Amount(a)
	}
	return s
}

// Wire copies the set for a message.
func (s Set) Wire() map[string]int64 {
	m := make(map[string]int64, len(s))
	for name, a := range s {
		m[name] = int64(a)
	}
	return m
}

// Fits reports whether every amount of s is there in have. A zero amount
// always is, even of something overdrawn.
func (s Set) Fits(have Set) bool {
	for name, a := range s {
		if a > 0 && a > have[name] {
			return false
		}
	}
	return true
}

// Add adds o to s in place.
func (s Set) Add(o Set) {
	for name, a := range o {
		s[name] += a
	}
}

// Sub subtracts o from s in place; amounts may become negative.
func (s Set) Sub(o Set) {
	for name, a := range o {
		s[name] -= a
	}
}

// Clone returns a copy, never nil.
func (s Set) Clone() Set {
	c := make(Set, len(s))
	c.Add(s)
	return c
}

// Trim removes the names with the amount zero and returns s.
func (s Set) Trim() Set {
	for name, a := range s {
		if a == 0 {
			delete(s, name)
		}
	}
	return s
}

// IsZero reports whether nothing is in s.
func (s Set) IsZero() bool {
	for _, a := range s {
		if a != 0 {
			return false
		}
	}
	return true
}

// Equal reports whether both hold the same amounts.
func (s Set) Equal(o Set) bool {
	for name, a := range s {
		if o[name] != a {
			return false
		}
	}
	for name, a := range o {
		if s[name] != a {
			return false
		}
	}
	return true
}

// String returns human text, sorted, without zeros: {"CPU": 1, "GPU": 0.5}.
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for _, name := range sortedNames(s) {
		if s[name] == 0 {
			continue
		}
		if b.Len() > 1 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
		b.WriteString(": ")
		b.WriteString(s[name].String())
	}
	b.WriteByte('}')
	return b.String()
}

// Key returns the same text for equal sets and different text for others.
func (s Set) Key() string { return s.String() }

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
