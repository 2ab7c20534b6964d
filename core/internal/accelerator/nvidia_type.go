package accelerator

import (
	"regexp"
	"strings"
)

// Ray's names: the brand is left out, and the model is the words in capitals up
// to the first with a digit, without what follows a hyphen. "NVIDIA
// A100-SXM4-40GB" is an A100, "NVIDIA RTX A6000" an RTX-A6000. A model that is
// not written so keeps its whole name: "NVIDIA GeForce RTX 3090" is a
// GeForce-RTX-3090.
var (
	nvidiaModel = regexp.MustCompile(`^(?:\w+\s+)?((?:[A-Z]+\s+)*[A-Z0-9]*\d[A-Z0-9]*)`)
	nvidiaBrand = regexp.MustCompile(`^(?:NVIDIA\s+)?(?:Tesla\s+)?`)
	nvgpuSuffix = regexp.MustCompile(`\s*\(nvgpu\)$`)
)

func nvidiaType(model string) string {
	model = nvgpuSuffix.ReplaceAllString(strings.TrimSpace(model), "")
	if m := nvidiaModel.FindStringSubmatch(strings.Replace(model, "NVIDIA Tesla ", "Tesla ", 1)); m != nil && len(m[1]) > 1 {
		return strings.Join(strings.Fields(m[1]), "-")
	}
	return strings.Join(strings.Fields(nvidiaBrand.ReplaceAllString(model, "")), "-")
}

// tegraTypes are the names of the systems on a chip that Linux for Tegra runs
// on, by what the device tree calls them.
var tegraTypes = map[string]string{
	"nvidia,tegra210": "Tegra-X1",
	"nvidia,tegra186": "Tegra-X2",
	"nvidia,tegra194": "Xavier",
	"nvidia,tegra234": "Orin",
	"nvidia,tegra264": "Thor",
}

// tegra looks for the GPU of a Jetson, which is part of the chip: the driver
// has files of its own and, before JetPack 6, no tool.
func tegra(h *host) []nvidiaGPU {
	if !h.exists("/dev/nvhost-gpu") && !h.exists("/dev/nvhost-ctrl-gpu") && !h.exists("/dev/nvgpu") {
		return nil
	}
	var g nvidiaGPU
	for name := range strings.SplitSeq(h.read("/proc/device-tree/compatible"), "\x00") {
		if kind := tegraTypes[name]; kind != "" {
			g.model = kind
		}
	}
	return []nvidiaGPU{g}
}

// nvidiaGPU is one device in the order of PCI addresses.
type nvidiaGPU struct{ model, uuid string }
