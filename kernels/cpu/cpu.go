// Package cpu is the back end for the processor.
package cpu

import "github.com/eagleray/eagleray/kernels/backend"

// Backend is the processor, one device.
func Backend() backend.Backend { return processor{} }

type processor struct{}

func (processor) Name() string                     { return "cpu" }
func (processor) Count() (int, error)              { return 1, nil }
func (processor) Open(int) (backend.Device, error) { return nil, nil }
