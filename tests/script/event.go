package script

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Event is a line of a script. Its first word is its name. Each further word is a value or a flag, or
// has the form key=value.
type Event struct {
	t     testing.TB
	Line  string
	Name  string
	Words []string // after the name
}

// NewEvent reads a line, which has at least one word. The test fails when the event lacks what it is asked for.
func NewEvent(t testing.TB, line string) *Event {
	t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 {
		t.Fatalf("line %q names no event", line)
	}
	return &Event{t: t, Line: line, Name: words[0], Words: words[1:]}
}

// Word returns the i-th word after the name, from 0 on. It is empty when the line is shorter.
func (e *Event) Word(i int) string {
	if i < len(e.Words) {
		return e.Words[i]
	}
	return ""
}

// Has reports whether one of the words after the name is this flag, alone or with a value as flag=value.
func (e *Event) Has(flag string) bool {
	return slices.ContainsFunc(e.Words, func(w string) bool {
		word, _, _ := strings.Cut(w, "=")
		return word == flag
	})
}

// Option returns the value of the word key=value. It is empty when there is none.
func (e *Event) Option(key string) string {
	for _, w := range e.Words {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

// OptionNumber returns the number of the word key=number, and whether there is such a word.
func (e *Event) OptionNumber(key string) (n int, there bool) {
	e.t.Helper()
	v := e.Option(key)
	if v == "" {
		return 0, false
	}
	return e.Number(v), true
}

// Number reads a number.
func (e *Event) Number(word string) int {
	e.t.Helper()
	n, err := strconv.Atoi(word)
	if err != nil {
		e.t.Fatalf("%q: %q is no number", e.Line, word)
	}
	return n
}

// Int returns the i-th word after the name as a number.
func (e *Event) Int(i int) int {
	e.t.Helper()
	return e.Number(e.Word(i))
}

// Ints returns all words after the name as numbers.
func (e *Event) Ints() (list []int) {
	e.t.Helper()
	for _, w := range e.Words {
		list = append(list, e.Number(w))
	}
	return list
}

// List returns what stands between the commas of a word.
func (e *Event) List(word string) []string {
	return slices.DeleteFunc(strings.Split(word, ","), func(s string) bool { return s == "" })
}

// Unknown fails the test because the event has a name that means nothing.
func (e *Event) Unknown() {
	e.t.Helper()
	e.t.Fatalf("event %q is not known", e.Line)
}
