// Package crosslanguage writes failures of Go functions as Python reads exceptions, and says which language a failure comes from.
//
// The form is that of python/eagleray/_private/task_error.py: a msgpack array of the function, the cause in one line, the traceback and a
// headline, then a pickle. The pickle makes a task error in Python whose cause is a CrossLanguageError. The package is pure: it has no state.
package crosslanguage

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// Origin says where a failure comes from.
type Origin struct {
	Function string // or method, as the caller calls it
	Program  string // the path of the Go worker program
	Pid      int
	Address  string // of the machine
	Actor    string // its kind; "": it is no actor's
	ActorID  string // in hex
}

// maxText bounds each text of a failure, in bytes, so that a failure travels in one message. What is left out is in the middle.
const maxText = 8 << 10

// Encode returns a failure. Class is in one word what it is: error, panic, refused (it was not called) or result (it cannot be sent). Stack may be empty.
func Encode(o Origin, class, message, stack string) []byte {
	message, stack = shortened(message), shortened(stack)
	text := described(o, class, message, stack)
	head := []any{o.Function, class + ": " + message, text, headline(o), pickled(o, class, message, text)}
	b, err := msgpack.Marshal(head)
	if err != nil { // texts and bytes are always encoded
		panic("crosslanguage: " + err.Error())
	}
	return b
}

// EncodeConstructor returns the end of an actor whose constructor has failed with what Encode has made.
func EncodeConstructor(o Origin, class, message, stack string) []byte {
	message, stack = shortened(message), shortened(stack)
	text := described(o, class, message, stack)
	var p pickle
	p.begin()
	p.text("actor_init")
	p.bytes(Encode(o, class, message, stack))
	p.text(o.ActorID)
	p.none()
	p.end()
	b, err := msgpack.Marshal([]any{o.Function, class + ": " + message, text, "", p.Bytes()})
	if err != nil {
		panic("crosslanguage: " + err.Error())
	}
	return b
}

// IsGo reports whether the pickle of an encoded failure comes from a Go function.
func IsGo(rest []byte) bool { return bytes.Contains(rest, []byte(mark)) }

// marker is the key of an attribute of Python's error that only Encode writes. Mark is how the pickle of such an error ends.
const (
	marker = "_eagleray_go"
	mark   = marker + "\x88ub.t."
)

// constructor is the name by which a pickle finds Python's class.
const constructor = "ceagleray.exceptions\nCrossLanguageError\n"

func headline(o Origin) string {
	if o.Actor != "" {
		return o.Function + " (a method of a Go actor)"
	}
	return o.Function + " (a Go function)"
}

func described(o Origin, class, message, stack string) string {
	var b strings.Builder
	b.WriteString("The Go function " + o.Function + " of " + o.Program)
	switch class {
	case "panic":
		b.WriteString(" panicked: ")
	case "refused":
		b.WriteString(" was not called: ")
	case "result":
		b.WriteString(" returned what is no result: ")
	default:
		b.WriteString(" returned an error: ")
	}
	b.WriteString(message)
	if stack != "" {
		b.WriteString("\n" + strings.TrimRight(stack, "\n"))
	}
	return b.String()
}

// shortened returns valid UTF-8 of a bounded length.
func shortened(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	from, to := maxText/2, len(s)-maxText/2
	for !utf8.RuneStart(s[from]) {
		from--
	}
	for !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + " … " + s[to:]
}

// pickled is ("task", (function, traceback, title, pid, address, actor, actor id), the cause as a pickle of its own).
func pickled(o Origin, class, message, text string) []byte {
	var c pickle
	c.proto()
	c.WriteString(constructor)
	c.text(text)
	c.WriteByte(opTuple1)
	c.WriteByte(opReduce)
	c.WriteByte(opEmptyDict)
	c.WriteByte(opMark)
	for _, kv := range [][2]string{{"language", "go"}, {"kind", class}, {"message", message}, {"function", o.Function}} {
		c.text(kv[0])
		c.text(kv[1])
	}
	c.text(marker)
	c.WriteByte(opTrue)
	c.WriteByte(opSetItems)
	c.WriteByte(opBuild)
	c.WriteByte(opStop)

	var p pickle
	p.begin()
	p.text("task")
	p.WriteByte(opMark)
	p.text(o.Function)
	p.text(text)
	p.text(headline(o))
	p.number(o.Pid)
	p.text(o.Address)
	p.textOrNone(o.Actor)
	p.textOrNone(o.ActorID)
	p.WriteByte(opTuple)
	p.bytes(c.Bytes())
	p.end()
	return p.Bytes()
}
