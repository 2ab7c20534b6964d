//go:build !cuda || !cgo

package cuda

import (
	"errors"

	"github.com/eagleray/eagleray/kernels/backend"
)

var errNotBuilt = errors.New("built without CUDA (build tag cuda)")

type none struct{}

// Backend is the CUDA back end; in this build it has no devices.
func Backend() backend.Backend { return none{} }

// SearchPath has no effect in this build.
func SearchPath(...string) {}

// DeviceBytes is 0 in this build.
func DeviceBytes() int64 { return 0 }

func (none) Name() string        { return "cuda" }
func (none) Count() (int, error) { return 0, errNotBuilt }
func (none) Open(int) (backend.Device, error) {
	return nil, &backend.UnsupportedError{Device: "cuda", What: "opening a device", Why: errNotBuilt.Error()}
}
