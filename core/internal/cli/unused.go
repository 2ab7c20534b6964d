package cli

import (
	"fmt"
	"io"
	"strings"
)

// reason is why flags have no effect, with the names of these flags.
type reason struct {
	why   string
	names []string
}

// byReason groups the unused flags of a table that are picked, in the order of the table.
func byReason(table []option, pick func(*option) bool) (list []reason) {
	place := make(map[string]int)
	for i := range table {
		o := &table[i]
		if !pick(o) {
			continue
		}
		at, ok := place[o.unused]
		if !ok {
			at = len(list)
			place[o.unused] = at
			list = append(list, reason{why: o.unused})
		}
		list[at].names = append(list[at].names, o.name)
	}
	return list
}

// unusedGiven returns the flags without an effect that a command line has.
func unusedGiven(table []option, flags map[string]string) []reason {
	return byReason(table, func(o *option) bool {
		_, given := flags[o.name]
		return given && o.unused != ""
	})
}

// tellUnused writes one line about them, if there are any. It belongs on standard error: scripts read the output.
func tellUnused(command string, unused []reason, errs io.Writer) {
	if len(unused) == 0 {
		return
	}
	parts := make([]string, len(unused))
	for i, r := range unused {
		parts[i] = fmt.Sprintf("%s (%s)", strings.Join(r.names, ", "), r.why)
	}
	fmt.Fprintf(errs, "eagleray: %s: flags that have no effect here: %s\n", command, strings.Join(parts, "; "))
}
