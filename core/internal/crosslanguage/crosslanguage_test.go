package crosslanguage

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// parts reads what other languages show of a failure, and the pickle.
func parts(t *testing.T, b []byte) (function, cause, text, headline string, pickle []byte) {
	t.Helper()
	var head []any
	if err := msgpack.Unmarshal(b, &head); err != nil || len(head) != 5 {
		t.Fatalf("%v, %d parts", err, len(head))
	}
	return head[0].(string), head[1].(string), head[2].(string), head[3].(string), head[4].([]byte)
}

func TestEncode_ErrorAndPanic_SayWhatHappened(t *testing.T) {
	o := Origin{Function: "mean", Program: "/a/program", Pid: 7, Address: "10.0.0.1"}
	function, cause, text, headline, pickle := parts(t, Encode(o, "error", "no numbers", ""))
	if function != "mean" || cause != "error: no numbers" || text != "The Go function mean of /a/program returned an error: no numbers" || headline != "mean (a Go function)" {
		t.Errorf("%q %q %q %q", function, cause, text, headline)
	}
	if !IsGo(pickle) || pickle[0] != opProto || pickle[len(pickle)-1] != opStop {
		t.Errorf("the pickle %q", pickle)
	}
	_, _, text, _, _ = parts(t, Encode(o, "panic", "index out of range", "goroutine 1 [running]:\nmain.f()\n"))
	if !strings.HasSuffix(text, "panicked: index out of range\ngoroutine 1 [running]:\nmain.f()") {
		t.Errorf("%q", text)
	}
	o.Actor, o.ActorID = "Stock", "00ff"
	if _, _, _, headline, _ = parts(t, Encode(o, "error", "x", "")); headline != "mean (a method of a Go actor)" {
		t.Errorf("%q", headline)
	}
	if _, _, _, _, pickle = parts(t, EncodeConstructor(o, "error", "x", "")); !IsGo(pickle) || !strings.Contains(string(pickle), "actor_init") {
		t.Errorf("of a constructor: %q", pickle)
	}
}

func TestEncode_LongAndInvalidTexts_AreBoundedAndValid(t *testing.T) {
	long := strings.Repeat("größe", maxText)
	_, cause, text, _, _ := parts(t, Encode(Origin{Function: "f"}, "error", "\xff"+long, long))
	for _, s := range []string{cause, text} {
		if len(s) > 3*maxText || !utf8.ValidString(s) || !strings.Contains(s, " … ") {
			t.Errorf("%d bytes, valid: %v", len(s), utf8.ValidString(s))
		}
	}
}

func TestIsGo_TextOfAnotherFailureThatNamesTheMark_IsNot(t *testing.T) {
	if IsGo([]byte("\x80\x05\x95 ValueError: " + marker + " is what I looked for.")) {
		t.Error("a text counts as the mark")
	}
}
