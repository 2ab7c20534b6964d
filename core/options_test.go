package core

import (
	"math"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestCall_Amounts_CheckedAsInPython(t *testing.T) {
	for _, c := range []struct {
		call  Call
		words string // "" for none
	}{
		{Call{NumGPUs: 0.5, Resources: map[string]float64{"NPU": 0.25, "TPU": 4, "HPU": 3, "slot": 1.5}}, ""},
		{Call{NumGPUs: 1.5}, "GPU: asked 1.5; must be a whole number or a fraction below 1"},
		{Call{Resources: map[string]float64{"TPU": 0.5}}, "TPU: asked 0.5; must be a whole number"},
		{Call{Resources: map[string]float64{"TPU": 3}}, "TPU: asked 3; must be one of 1 2 4 8"},
		{Call{Resources: map[string]float64{"neuron_cores": 1.5}}, "neuron_cores: asked 1.5"},
		{Call{Resources: map[string]float64{"HPU": 0.5}}, "HPU: asked 0.5"},
		{Call{NumGPUs: math.NaN()}, "GPU: NaN must be a non-negative number"},
		{Call{NumGPUs: -1}, "GPU: -1 must be a non-negative number"},
		{Call{Memory: 1 << 50}, "memory: 1.125899906842624e+15 is too large"},
		{Call{NumGPUs: math.Inf(1)}, "GPU: +Inf is too large"},
		{Call{Resources: map[string]float64{"slot": 1e300}}, "slot: 1e+300 is too large"},
		{Call{NumCPUs: 2, ZeroCPUs: true}, "NumCPUs is 2 and ZeroCPUs says that it is 0"},
		{Call{ZeroCPUs: true}, ""},
	} {
		_, err := c.call.amounts(1)
		if c.words == "" && err != nil || c.words != "" && (fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%+v: %v, want %q", c.call, err, c.words)
		}
	}
}

func TestCall_Exclusive_AsTheActorsOptionOfPython(t *testing.T) {
	for want, c := range map[int8]Call{wire.Unsaid: {}, wire.Yes: {Exclusive: true}, wire.No: {NotExclusive: true}} {
		if got := c.exclusive(); got != want {
			t.Errorf("%+v: %d, want %d", c, got, want)
		}
	}
}
