package nodeprocess

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/accelerator"
)

// notForWorkers begin the names of variables that workers do not get from their node. The first two are settings of its
// processes, and secrets. Python's are for an interpreter, and workers run the one that their driver names.
var notForWorkers = []string{"EAGLERAY_", "RAY_", "PYTHON"}

// ofOneProcess are variables about the process that has them: of shells, and of service managers.
var ofOneProcess = []string{"_", "OLDPWD", "PWD", "SHLVL", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"}

// workersEnv returns the variables of this process, NAME=TEXT each, that workers of the node get too. Those that say which
// accelerators can be seen are not among them: each task and actor gets its own.
func workersEnv(environ []string) map[string]string {
	env := make(map[string]string)
	devices := accelerator.Variables()
	for _, kv := range environ {
		name, text, ok := strings.Cut(kv, "=")
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		// What is not UTF-8 would not survive the way to a zygote, which is JSON.
		if !ok || name == "" || !utf8.ValidString(kv) || slices.ContainsFunc(notForWorkers, begins) ||
			slices.Contains(ofOneProcess, name) || slices.Contains(devices, name) {
			continue
		}
		env[name] = text
	}
	return env
}
