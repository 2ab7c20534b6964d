package process

import (
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/workers"
)

// BadConfig is what the user asked for and cannot have.
type BadConfig struct{ error }

func (b *BadConfig) Unwrap() error { return b.error }

// NewBadConfig says that an error is what the user asked for and cannot have.
func NewBadConfig(err error) error { return &BadConfig{err} }

// A configuration of many resources is larger than an argument of a program may be:
// then it comes by the standard input.
const (
	FromStdin   = "-"
	longConfig  = 64 << 10 // bytes from which on it does
	largeConfig = 32 << 20 // the most that are read
)

// ConfigText returns the text of a configuration that an argument names.
func ConfigText(argument string, in io.Reader) (string, error) {
	if argument != FromStdin {
		return argument, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, largeConfig+1))
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	if len(b) > largeConfig {
		return "", &BadConfig{fmt.Errorf("the configuration has more than %d bytes", largeConfig)}
	}
	return string(b), nil
}

// Isolate makes this process fit to outlive signals of a terminal and to
// inherit orphans.
func Isolate() {
	debug.SetGCPercent(50)
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGPIPE, unix.SIGTTOU)
	_, _ = unix.Setsid() // fails when the starter did it
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	unix.Umask(0o077)
	workers.Spare()
}

// HoldSecrets makes this process fit to have a token and keys in its memory: the kernel writes no core file of it.
func HoldSecrets(log *slog.Logger) {
	if err := workers.NoCore(); err != nil {
		log.Warn("a crash of this process may leave a file with its secrets", "error", err)
	}
}

// InsecureText says what it means that a cluster goes without TLS. `start` and `status` print it, and the processes of a node log it.
const InsecureText = "--insecure: whoever can read the network between the nodes can read and change everything that the cluster does"

// LogInsecure logs at the beginning of a process that it goes without TLS.
func LogInsecure(insecure bool, log *slog.Logger) {
	if insecure {
		log.Warn(InsecureText)
	}
}
