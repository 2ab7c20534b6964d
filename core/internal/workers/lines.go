package workers

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// namePrefix begins a line that names the process's later lines.
const namePrefix = "\x1f:name:"

// taskPrefix begins a line that says which task has written the later lines in the process's file; the driver is not told.
const taskPrefix = "\x1f:task:"

// workEndMark at the end of a line of standard error says that the work which wrote until here
// has ended: what follows is of other work. A report about the death of the process quotes only
// what follows the last mark. A line with nothing but the mark is not shown.
const workEndMark = "\x1f:over:"

// maxLine is where a line without an end is cut.
const maxLine = 64 << 10

// splitter cuts one output of a worker into lines.
type splitter struct {
	line    wire.LogLine // Pid and Stderr
	named   bool         // a name came on this output
	name    string       // the latest of this output
	latest  *string      // the latest of either output of the process
	partial []byte

	progress  bool   // partial follows a \r: it is a progress line
	shown     shown  // how the first part of the current line was shown
	shownText string // shownAsProgress: that part
}

// shown says how showPartial has shown the first part of a line whose end has not come.
type shown int

const (
	shownNothing    shown = iota
	shownAsLine           // as a line of its own; the line's end shows nothing more
	shownAsProgress       // as a progress line, which the rest of the line replaces
)

// add appends the complete lines of b to dst.
func (s *splitter) add(dst []wire.LogLine, b []byte) []wire.LogLine {
	for len(b) > 0 {
		if n := len(s.partial); n > 0 && s.partial[n-1] == '\r' {
			// Only now is it known what followed the carriage return.
			text := s.partial[:n-1]
			if b[0] == '\n' {
				dst = s.emit(dst, text, false)
				b = b[1:]
			} else {
				dst = s.emit(dst, text, true)
			}
			s.partial = s.partial[:0]
			continue
		}
		i := bytes.IndexAny(b, "\r\n")
		switch {
		case i < 0 || b[i] == '\r' && i == len(b)-1:
			room := maxLine - len(s.partial)
			if len(b) <= room {
				s.partial = append(s.partial, b...)
				return dst
			}
			dst = s.emit(dst, append(s.partial, b[:max(room, 0)]...), false)
			s.partial, b = s.partial[:0], b[max(room, 0):]
		default:
			carriage := b[i] == '\r' && b[i+1] != '\n'
			next := i + 1
			if b[i] == '\r' && !carriage {
				next++
			}
			dst = s.emit(dst, append(s.partial, b[:i]...), carriage)
			s.partial, b = s.partial[:0], b[next:]
		}
	}
	if len(s.partial) == 0 && cap(s.partial) > 1<<10 {
		s.partial = nil
	}
	return dst
}

// showPartial appends the text of a line whose end has not come. Its reader would otherwise
// not see a question that ends without a line's end, for example.
func (s *splitter) showPartial(dst []wire.LogLine) []wire.LogLine {
	n := len(s.partial)
	if n == 0 || s.partial[n-1] == '\r' || s.partial[0] == namePrefix[0] {
		return dst
	}
	text, progress := s.partial, s.progress
	s.partial = nil
	if !progress {
		dst = s.emit(dst, text, false)
		s.shown = shownAsLine
		return dst
	}
	if s.shown == shownAsProgress {
		text = append([]byte(s.shownText), text...)
		s.shown = shownNothing
	}
	dst = s.emit(dst, text, true)
	s.shown, s.shownText = shownAsProgress, string(text)
	return dst
}

// end returns what came without an end of line.
func (s *splitter) end(dst []wire.LogLine) []wire.LogLine {
	if len(s.partial) > 0 {
		dst = s.emit(dst, bytes.TrimSuffix(s.partial, []byte("\r")), false)
		s.partial = nil
	}
	return dst
}

func (s *splitter) emit(dst []wire.LogLine, text []byte, carriage bool) []wire.LogLine {
	if rest, ok := bytes.CutSuffix(text, []byte(workEndMark)); ok {
		if text = rest; len(text) == 0 && s.shown == shownNothing {
			return dst
		}
	}
	s.progress = carriage
	switch was := s.shown; {
	case was == shownAsLine && len(text) == 0:
		s.shown = shownNothing
		return dst
	case was == shownAsProgress && !(carriage && len(text) == 0):
		text = append([]byte(s.shownText), text...)
	}
	s.shown, s.shownText = shownNothing, ""
	if carriage && len(text) == 0 {
		return dst // a progress line begins with \r
	}
	for len(text) > maxLine {
		dst = s.emit(dst, text[:maxLine], false)
		text = text[maxLine:]
	}
	str := string(text)
	if name, ok := strings.CutPrefix(str, namePrefix); ok {
		s.named, s.name, *s.latest = true, name, name
		return dst
	}
	if strings.HasPrefix(str, taskPrefix) {
		return dst
	}
	if !utf8.ValidString(str) {
		str = strings.ToValidUTF8(str, "\uFFFD")
	}
	l := s.line
	l.Text, l.Carriage, l.Name = str, carriage, *s.latest
	if s.named {
		l.Name = s.name
	}
	return append(dst, l)
}
