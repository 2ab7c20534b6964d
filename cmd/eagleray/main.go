// Command eagleray is the daemon and the command line.
package main

import (
	"os"

	"github.com/eagleray/eagleray/core/program"
)

// version is set by the linker (setup.py).
var version = "dev"

func main() { os.Exit(program.Main(os.Args[1:], version)) }
