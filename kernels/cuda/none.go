//go:build !cuda

// Package cuda is the back end for NVIDIA devices.
package cuda

import "github.com/eagleray/eagleray/kernels/backend"

// Backend answers that there is no device: this build has no CUDA.
func Backend() backend.Backend { return none{} }

type none struct{}

var errNone = &backend.UnsupportedError{Device: "cuda", What: "opening a device", Why: "this build has no CUDA back end; build with -tags cuda"}

func (none) Name() string                     { return "cuda" }
func (none) Count() (int, error)              { return 0, errNone }
func (none) Open(int) (backend.Device, error) { return nil, errNone }
