// Command eagleray-gpu opens NVIDIA's libraries for the daemon, which starts it.
//
//	eagleray-gpu watch [LIBRARY]    answers who holds how much (package gpus)
//	eagleray-gpu probe [LIBRARY]    opens a GPU, says so, and stays until its input ends
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/eagleray/eagleray/core/nvml"
)

func main() {
	args := append(os.Args[1:], "", "")
	if err := run(args[0], args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "eagleray-gpu: %v\n", err)
		os.Exit(1)
	}
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
