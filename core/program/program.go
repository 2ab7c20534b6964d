// Package program gives cmd/eagleray access to the command line and the daemon, which lie
// below core/internal. Its API may change at any time; use the command eagleray.
package program

import (
	"os"

	"github.com/eagleray/eagleray/core/internal/cli"
)

// Main runs the command line of the program eagleray and returns its exit status.
func Main(args []string, version string) int {
	return cli.Main(args, version, os.Stdout, os.Stderr)
}
