package workers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// pause stands for the time after which a line is shown that is not over.
const pause = "…"

func split(parts ...string) []string {
	latest := ""
	s := splitter{latest: &latest}
	var lines []wire.LogLine
	for _, p := range parts {
		if p == pause {
			lines = s.showPartial(lines)
		} else {
			lines = s.add(lines, []byte(p))
		}
	}
	lines = s.end(lines)
	var out []string
	for _, l := range lines {
		mark := ""
		if l.Carriage {
			mark = "~"
		}
		if l.Name != "" {
			mark += l.Name + ": "
		}
		out = append(out, mark+l.Text)
	}
	return out
}

func TestSplitter_Lines(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want []string
	}{
		{[]string{"a\nb\n"}, []string{"a", "b"}},
		{[]string{"a", "b\n", "c"}, []string{"ab", "c"}},
		{[]string{"a\r\nb\r", "\nc\n"}, []string{"a", "b", "c"}},
		{[]string{"\r 1%\r 2%", "\r 3%\n"}, []string{"~ 1%", "~ 2%", " 3%"}},
		{[]string{"done\r"}, []string{"done"}},
		{[]string{"\n\n"}, []string{"", ""}},
		{[]string{"\r\r\n"}, []string{""}},
		{[]string{"x\n\x1f:name:f\ny\n\x1f:name:\nz\n"}, []string{"x", "f: y", "z"}},
		{[]string{"x\n\x1f:over:\ny\n", "z\x1f:ov", "er:\n\x1f:over:\n"}, []string{"x", "y", "z"}},
		{[]string{"x", pause, "\x1f:over:\ny\n"}, []string{"x", "y"}},
		{[]string{"\xff\xfe\n"}, []string{"\uFFFD"}},
		{[]string{strings.Repeat("x", maxLine+5) + "\n"}, []string{strings.Repeat("x", maxLine), "xxxxx"}},
		{[]string{"a", pause, "b\n"}, []string{"a", "b"}},
		{[]string{"a", pause, "\nb\n\n"}, []string{"a", "b", ""}},
		{[]string{"a\n", pause, "b\n"}, []string{"a", "b"}},
		{[]string{"\r 1%", pause, "\r 2%", pause, "\n"}, []string{"~ 1%", "~ 2%", " 2%"}},
		{[]string{"\r 1%", pause, " slow", pause, " now\nx\n"}, []string{"~ 1%", "~ 1% slow", " 1% slow now", "x"}},
		{[]string{"\r 1%", pause, "\r 2%\n"}, []string{"~ 1%", " 2%"}},
		{[]string{"\r 1%", pause}, []string{"~ 1%"}},
		{nil, nil},
	} {
		if got := split(c.in...); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%.40q gives %.80q, want %.80q", c.in, got, c.want)
		}
	}
}

// TestSplitter_AnyChunks_SameLines: where reads end changes nothing.
func TestSplitter_AnyChunks_SameLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		for range r.IntN(20) {
			b.WriteString([]string{"a", "bc", "\n", "\r", "\r\n", "\x1f:name:n\n", "é"}[r.IntN(7)])
		}
		whole := b.String()
		var parts []string
		for rest := whole; rest != ""; {
			n := 1 + r.IntN(len(rest))
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		if a, b := fmt.Sprint(split(whole)), fmt.Sprint(split(parts...)); a != b {
			t.Fatalf("%q in chunks %q gives %s, whole %s", whole, parts, b, a)
		}
	}
}

func TestSplitter_NamesOfTwoStreams(t *testing.T) {
	latest := ""
	out, errs := splitter{latest: &latest}, splitter{latest: &latest}
	out.add(nil, []byte("\x1f:name:one\n"))
	if l := errs.add(nil, []byte("x\n")); l[0].Name != "one" {
		t.Errorf("%+v: the other stream's name counts until its own comes", l)
	}
	errs.add(nil, []byte("\x1f:name:two\n"))
	out.add(nil, []byte("\x1f:name:three\n"))
	if l := errs.add(nil, []byte("x\n")); l[0].Name != "two" {
		t.Errorf("%+v", l)
	}
}

// The memory of a long line is let go of when the line is over, that of a line
// that goes on is not.
func TestSplitter_LongLineOver_ItsMemoryGoes(t *testing.T) {
	latest := ""
	s := splitter{latest: &latest}
	s.add(nil, []byte(strings.Repeat("x", 5000)))
	if len(s.partial) != 5000 {
		t.Fatalf("%d bytes of a line that goes on are kept", len(s.partial))
	}
	if got := s.add(nil, []byte("y\nz")); len(got) != 1 || got[0].Text != strings.Repeat("x", 5000)+"y" || string(s.partial) != "z" {
		t.Fatalf("%d lines, %q goes on", len(got), s.partial)
	}
	if got := s.add(nil, []byte("\n")); len(got) != 1 || got[0].Text != "z" || s.partial != nil {
		t.Errorf("%d lines, %d bytes are kept", len(got), cap(s.partial))
	}
	s.add(nil, []byte("short\n"))
	s.add(nil, []byte("sh"))
	s.add(nil, []byte("ort\n"))
	if s.partial == nil || cap(s.partial) > 1<<10 {
		t.Errorf("of short lines %d bytes are kept", cap(s.partial))
	}
}

func TestSplitter_LinesThatNameATask_AreNotShown(t *testing.T) {
	latest := ""
	s := splitter{latest: &latest}
	lines := s.add(nil, []byte("\x1f:task:+0102\none\n\x1f:task:-0102\n\x1f:name:f\n\x1f:task:-\ntwo\n"))
	if len(lines) != 2 || lines[0].Text != "one" || lines[0].Name != "" || lines[1].Text != "two" || lines[1].Name != "f" {
		t.Errorf("the lines are %+v", lines)
	}
	var end tail
	end.add([]byte("\x1f:task:+0102\nwhy\n\x1f:task:-0102\n"))
	if got := end.String(); got != "why" {
		t.Errorf("the end is %q", got)
	}
}
