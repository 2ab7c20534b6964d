// Command eagleray-gpu opens NVIDIA's libraries for the daemon, which starts it.
package main

import (
	"os"

	"github.com/eagleray/eagleray/core/program/gpu"
)

func main() { os.Exit(gpu.Main(os.Args[1:])) }
