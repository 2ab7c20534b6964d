package executor

import (
	"strings"
	"testing"
	"time"
)

// Who calls an exclusive actor that may begin nothing is told why after ten seconds, and again each minute.
func TestExclusive_CallsWaitForLong_SaysWhy(t *testing.T) {
	o := exclusive{name: "Account"}
	begun := time.Now()
	told := map[int]string{}
	for s := range 100 {
		if text := o.waits(begun.Add(time.Duration(s)*time.Second), time.Duration(s+3)*time.Second); text != "" {
			told[s] = text
		}
	}
	if len(told) != 2 || !strings.Contains(told[10], "exclusive actor Account have been waiting for 10s") || !strings.Contains(told[10], "ended 13s ago") || told[70] == "" {
		t.Errorf("told %v", told)
	}
	o.since = time.Time{} // calls have begun meanwhile
	if text := o.waits(begun.Add(200*time.Second), time.Second); text != "" {
		t.Errorf("told at once: %s", text)
	}
}
