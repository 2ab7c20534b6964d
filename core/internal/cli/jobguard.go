package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/internal/jobguard"
)

var jobGuardOptions = []option{
	{name: "--log", value: "FILE", about: "the file that the output is added to"},
	{name: "--stop-signal", value: "SIGNAL", about: "the first signal to a job that is to end"},
	{name: "--stop-wait", value: "SECONDS", about: "between that and SIGKILL"},
	{name: "--command", value: "COMMAND", about: "the entrypoint, for /bin/sh"},
}

// runJobGuard runs the entrypoint of a submitted job, and writes as JSON how it has ended. The job ends with its input.
func runJobGuard(args []string, out, _ io.Writer) error {
	flags, err := parseFlags("job-guard", jobGuardOptions, args)
	if err != nil {
		return err
	}
	stop, err := jobguard.ParseSignal(flags["--stop-signal"])
	if err != nil {
		return usage("job-guard: --stop-signal: %v", err)
	}
	wait, err := number(flags["--stop-wait"])
	if err != nil {
		return usage("job-guard: --stop-wait: %v", err)
	}
	grace := time.Duration(math.Min(wait, 86_400) * float64(time.Second))
	r, err := jobguard.Run(jobguard.Options{Command: flags["--command"], Log: flags["--log"], Stop: stop, Grace: grace, Input: os.Stdin})
	if err != nil {
		return fmt.Errorf("job-guard: %w", err)
	}
	return json.NewEncoder(out).Encode(r)
}
