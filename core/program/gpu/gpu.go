// Package gpu is the door through which cmd/eagleray-gpu reaches its code, which lies below
// core/internal. It promises nothing. It is apart from package program because it loads
// libraries, and the program eagleray is static.
package gpu

import "github.com/eagleray/eagleray/core/internal/gpucommand"

// Main runs the program eagleray-gpu and returns its exit status.
func Main(args []string) int { return gpucommand.Main(args) }
