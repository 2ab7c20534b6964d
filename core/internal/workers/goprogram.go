package workers

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// The zygote of an environment is a Python interpreter, or the Go program whose processes the workers are (package gozygote).

// goStartLimit is how long a Go program may take until it has registered what it runs.
const goStartLimit = 20 * time.Second

// howToRegister says what a Go program has to do to be one of workers.
const howToRegister = "a Go worker program registers its functions and actors, and then calls Main of package core/worker"

// zygoteArgs returns the arguments that a zygote is started with.
func zygoteArgs(s *wire.EnvSpec) []string {
	if s.IsGo() {
		return []string{s.Python}
	}
	return []string{s.Python, "-m", zygoteModule, titleRoom}
}

// programKind names the program of a zygote.
func programKind(s *wire.EnvSpec) string {
	if s.IsGo() {
		return "the Go worker program"
	}
	return "interpreter"
}

// startLimit is how long a zygote may take until it is ready.
func startLimit(s *wire.EnvSpec) time.Duration {
	if s.IsGo() {
		return goStartLimit
	}
	return ImportLimit
}

// lateText says why a zygote is given up that is not ready in time.
func lateText(s *wire.EnvSpec) string {
	if s.IsGo() {
		return fmt.Sprintf("the program %s has not registered itself within %v: %s", s.Python, goStartLimit, howToRegister)
	}
	return "importing the modules that workers share took longer than " + ImportLimit.String()
}

// endedText says that a zygote has ended by itself.
func endedText(s *wire.EnvSpec) string {
	if s.IsGo() {
		return fmt.Sprintf("the program %s ended and is no worker any more: %s", s.Python, howToRegister)
	}
	return "the zygote (the process that forks workers) ended"
}
