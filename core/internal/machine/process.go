package machine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// ProcessAnon returns the bytes of a process's anonymous memory. Pages that it
// shares with the process that forked it are counted whole unless exact is
// set, which makes the kernel walk the process's pages.
func ProcessAnon(pid int, exact bool) uint64 {
	file, name := "/status", "RssAnon:"
	if exact {
		file, name = "/smaps_rollup", "Pss_Anon:"
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + file)
	if err != nil {
		if exact {
			return ProcessAnon(pid, false) // another user's, or an old kernel
		}
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == name {
			kib, _ := strconv.ParseUint(string(f[1]), 10, 64)
			return kib << 10
		}
	}
	if exact {
		return ProcessAnon(pid, false)
	}
	return 0
}

// maxCommand cuts a command line.
const maxCommand = 100

// ProcessCommand returns a process's command line, or its name, cut to what
// fits a line.
func ProcessCommand(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	b, err := os.ReadFile(dir + "/cmdline")
	if err != nil || len(b) == 0 {
		b, _ = os.ReadFile(dir + "/comm")
	}
	s := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(b), "?"), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if len(s) > maxCommand {
		s = strings.ToValidUTF8(s[:maxCommand], "") + "..."
	}
	return s
}
