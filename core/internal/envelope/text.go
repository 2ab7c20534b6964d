package envelope

import (
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxText bounds the text of one exception, in bytes. Of a longer text both ends are told.
const maxText = 64 << 10

// ExceptionText returns what a person reads of a pickled exception that the function of
// this name has raised: the head of its envelope is plain text, see
// python/eagleray/_private/task_error.py. No code of the exception's runs.
func ExceptionText(envelope []byte, name string) string {
	e, err := store.Parse(envelope)
	var head []any
	if err != nil || wire.Check(e.Meta, wire.MaxValues) != nil || msgpack.Unmarshal(e.Meta, &head) != nil || len(head) < 4 {
		return name + " failed"
	}
	part := func(i int) string { s, _ := head[i].(string); return strings.TrimRight(s, "\n") }
	text := part(2)
	if len(head) > 4 && part(3) != "" {
		text = part(3) + "\n" + text
	}
	if len(text) > maxText {
		text = text[:maxText/2] + "\n…\n" + text[len(text)-maxText/2:]
	}
	return strings.ToValidUTF8(text, "�")
}
