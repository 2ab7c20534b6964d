// Package gpucommand is the program eagleray-gpu, which opens NVIDIA's libraries for the
// daemon. A driver's library that does not return or that ends its process harms only this
// process.
//
//	eagleray-gpu watch [LIBRARY]    answers who holds how much (package gpus)
//	eagleray-gpu probe [LIBRARY]    opens a GPU, says so, and stays until its input ends
package gpucommand

import (
	"fmt"
	"io"
	"os"

	"github.com/eagleray/eagleray/core/internal/nvml"
)

// Main runs the command that args name and returns the program's exit status.
func Main(args []string) int {
	args = append(args, "", "")
	if err := run(args[0], args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "eagleray-gpu: %v\n", err)
		return 1
	}
	return 0
}

func run(what, library string) error {
	switch what {
	case "watch":
		return nvml.Serve(library, input(), os.Stdout)
	case "probe":
		in := input()
		if err := nvml.OpenGPU(library); err != nil {
			return err
		}
		fmt.Println("open")
		_, err := io.Copy(io.Discard, in)
		return err
	}
	return fmt.Errorf("%q is neither watch nor probe", what)
}

// input is what the daemon writes. With its end this process ends, also while
// the driver's library does not return.
func input() io.Reader {
	in, to := io.Pipe()
	go func() {
		_, _ = io.Copy(to, os.Stdin)
		os.Exit(0)
	}()
	return in
}
