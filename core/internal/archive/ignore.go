package archive

import (
	"path"
	"strings"
)

// pattern is one line of a list of what is left out.
type pattern struct {
	segments []string // "**" stands for any number of folders
	folder   bool     // it means folders only
	keep     bool     // it takes back what earlier lines leave out
}

// rules is one list of patterns, for the paths below a folder.
type rules struct {
	base     string // the folder, relative to the root; "" is the root
	patterns []pattern
}

// newRules reads patterns with git's syntax.
func newRules(base string, lines []string) (r rules) {
	r.base = base
	for _, line := range lines {
		if p, ok := parsePattern(line); ok {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

// parsePattern reads a line. It reports false for empty lines and comments.
func parsePattern(line string) (p pattern, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.keep, line = true, line[1:]
	}
	line, p.folder = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	p.segments = strings.Split(strings.ReplaceAll(line, "[!", "[^"), "/")
	if !anchored {
		p.segments = append([]string{"**"}, p.segments...)
	}
	return p, true
}

// excludes reports whether the list leaves out a path, which is relative to the root. The last pattern that matches counts.
func (r *rules) excludes(name string, folder bool) bool {
	if r.base != "" {
		below, ok := strings.CutPrefix(name, r.base+"/")
		if !ok {
			return false
		}
		name = below
	}
	segments := strings.Split(name, "/")
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := &r.patterns[i]
		if (folder || !p.folder) && matches(p.segments, segments) {
			return !p.keep
		}
	}
	return false
}

// matches compares a pattern with a path.
func matches(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(name) > 0
			}
			for i := range name {
				if matches(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}
