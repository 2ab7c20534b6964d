package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

// Every field of a message arrives, and a header that is not one is refused.
func TestParseMessage_FieldsOrAnError(t *testing.T) {
	frame, err := AppendMessage([]byte("before"), Failure, TObjSeal, 1<<40+3, 4000, []string{"a"})
	if err != nil || !bytes.HasPrefix(frame, []byte("before")) {
		t.Fatalf("got %x, %v", frame, err)
	}
	m, err := ParseMessage(frame[len("before")+4:])
	var body []string
	if err != nil || m.Kind != Failure || m.Type != TObjSeal || m.ID != 1<<40+3 || m.DeadlineMs != 4000 || m.Decode(&body) != nil || len(body) != 1 || body[0] != "a" {
		t.Errorf("got %+v, %v", m, err)
	}
	pack := func(v any) []byte {
		b, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := pack([]any{EnvelopeVersion, 1, 2, 3, 4, "body"})
	if m, err := ParseMessage(whole); err != nil || m.Kind != Request || m.Type != 2 || m.ID != 3 || m.DeadlineMs != 4 {
		t.Errorf("got %+v, %v", m, err)
	}
	for what, c := range map[string]struct {
		b    []byte
		want error
		code fault.Code
		says string
	}{
		"five fields":     {pack([]any{EnvelopeVersion, 1, 2, 3, 4}), ErrBadFrame, "", "header"},
		"seven fields":    {pack([]any{EnvelopeVersion, 1, 2, 3, 4, 5, 6}), ErrBadFrame, "", "header"},
		"no list":         {pack("abcdef"), ErrBadFrame, "", "header"},
		"a field is text": {pack([]any{EnvelopeVersion, 1, "x", 3, 4, 5}), ErrBadFrame, "", ""},
		"later version":   {pack([]any{EnvelopeVersion + 1, 1, 2, 3, 4, 5}), nil, fault.VersionMismatch, "peer writes messages of version"},
		"earlier version": {pack([]any{EnvelopeVersion - 1, 1, 2, 3, 4, 5}), nil, fault.VersionMismatch, "peer writes messages of version"},
		"nothing":         {nil, ErrBadFrame, "", ""},
	} {
		_, err := ParseMessage(c.b)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	for n := range whole {
		if _, err := ParseMessage(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are a message", n, len(whole))
		}
	}
	if m, err := ParseMessage(whole); err != nil || m.ID != 3 { // what failed before leaves nothing
		t.Errorf("got %+v, %v", m, err)
	}
}

// A body that is not what it should be is the sender's fault, and the type is named.
func TestMessage_Decode_NamesTheType(t *testing.T) {
	m := &Message{Type: TClusterInfo, Body: []byte{0xc1}}
	var n int
	if err := m.Decode(&n); fault.CodeOf(err) != fault.BadRequest || !strings.HasPrefix(err.Error(), TClusterInfo.String()) && !strings.Contains(err.Error(), TClusterInfo.String()+":") {
		t.Errorf("got %v", err)
	}
}
