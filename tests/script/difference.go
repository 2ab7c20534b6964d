package script

import (
	"fmt"
	"strings"
)

// before is how many lines are shown before the first that differs.
const before = 8

// difference describes the first line in which a trace and the recorded one differ. It is empty when they are the same.
func difference(trace, recorded string) string {
	if trace == recorded {
		return ""
	}
	got, want := strings.Split(trace, "\n"), strings.Split(recorded, "\n")
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	line := func(list []string) string {
		if i < len(list) {
			return list[i]
		}
		return "(the end)"
	}
	return fmt.Sprintf("line %d is\n%s\nand was recorded as\n%s\nafter\n%s", i+1, line(got), line(want), strings.Join(got[max(0, i-before):i], "\n"))
}
