package linkmsg

import (
	"errors"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// sentinels are the errors of package record by the names that they have on the way. Names are never reused.
var sentinels = map[string]error{
	"not_found":     record.ErrNotFound,
	"name_taken":    record.ErrNameTaken,
	"exists":        record.ErrExists,
	"dead":          record.ErrDead,
	"stale":         record.ErrStale,
	"job_ended":     record.ErrJobEnded,
	"node_dead":     record.ErrNodeDead,
	"invalid":       record.ErrInvalid,
	"compacted":     record.ErrCompacted,
	"closed":        record.ErrClosed,
	"maybe_applied": record.ErrMayHaveBeenApplied,
}

// Error is an error that crosses a connection between nodes. On the other side it is the same error for errors.Is with
// the sentinels of package record, for errors.As with *record.NameTakenError, and for fault.CodeOf.
type Error struct {
	Code    fault.Code `msgpack:"code"`
	Message string     `msgpack:"msg"`
	Task    string     `msgpack:"task"`
	Is      []string   `msgpack:"is"` // names of sentinels

	// Of a *record.NameTakenError.
	Namespace string     `msgpack:"ns"`
	Name      string     `msgpack:"name"`
	Existing  *ids.Actor `msgpack:"existing"`
}

// maxMessage bounds the text of an error, in bytes.
const maxMessage = 64 << 10

// short cuts a text that is too long for a message, between two characters.
func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}

// FromError returns err in the form in which it travels, nil for nil.
func FromError(err error) *Error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	e := &Error{Code: fault.CodeOf(err), Message: short(f.Message), Task: f.Task}
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			e.Is = append(e.Is, name)
		}
	}
	var taken *record.NameTakenError
	if errors.As(err, &taken) {
		e.Namespace, e.Name, e.Existing = taken.Namespace, taken.Name, &taken.Existing
	}
	return e
}

// Err returns the error, nil for nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	r := &remote{text: e.Message}
	if e.Existing != nil {
		r.causes = append(r.causes, &record.NameTakenError{Namespace: e.Namespace, Name: e.Name, Existing: *e.Existing})
	}
	r.causes = append(r.causes, &fault.Error{Code: e.Code, Message: e.Message, Task: e.Task})
	for _, name := range e.Is {
		if sentinel := sentinels[name]; sentinel != nil { // a later build may have more of them
			r.causes = append(r.causes, sentinel)
		}
	}
	return r
}

// remote is an error that came from the other side. Its text is complete, and its causes say what it is.
type remote struct {
	text   string
	causes []error
}

// Error returns the text.
func (r *remote) Error() string { return r.text }

// Unwrap returns what the error is.
func (r *remote) Unwrap() []error { return r.causes }
