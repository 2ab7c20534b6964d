package pressure

import (
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/internal/machine"
)

// Process is a line of a report.
type Process struct {
	Pid     int
	Bytes   uint64
	Command string
}

// top is how many processes a report names.
const top = 10

// Report is the text about a worker that was ended: its node, its work, the memory that it
// held, the reason, and the processes that held most. The list is sorted, the largest first.
func (o Options) Report(node string, w Worker, l machine.Level, list []Process) string {
	var b strings.Builder
	what := map[Kind]string{Idle: "an idle worker", Restarts: "actor " + w.Name, LastActor: "actor " + w.Name}[w.Kind]
	if what == "" {
		what = "task " + w.Name
	}
	fmt.Fprintf(&b, "%s (pid %d, RSS %s without mapped objects) was ended because %s is short of memory: %s.\n",
		what, w.Pid, size(w.Bytes), node, o.over(l))
	tail(&b, list)
	return b.String()
}

// KernelReport is Report for a worker that the kernel has ended. The memory that the worker
// held is not known then.
func KernelReport(node, what, status string, list []Process) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ended on %s: its %s by the kernel, as it seems, which has just ended processes because it had no memory left (dmesg tells). What it held (RSS) is not known.\n",
		what, node, status)
	tail(&b, list)
	return b.String()
}

func tail(b *strings.Builder, list []Process) {
	b.WriteString("The largest processes:\nPID\tMEM(GB)\tCOMMAND")
	for _, p := range list[:min(len(list), top)] {
		fmt.Fprintf(b, "\n%d\t%.2f\t%s", p.Pid, float64(p.Bytes)/(1<<30), p.Command)
	}
	b.WriteString("\nWhat helps: more memory, fewer tasks at a time (a larger num_cpus= or memory= for each), or retries that ask for more " +
		"(retry_with_more_memory=True). RAY_memory_usage_threshold moves the bar, RAY_memory_monitor_refresh_ms=0 switches the monitor off.")
}
