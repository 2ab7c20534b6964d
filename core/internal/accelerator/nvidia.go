package accelerator

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/internal/gpus"
)

// nvidiaContainerVar is the variable by which containers are given devices.
const nvidiaContainerVar = "NVIDIA_VISIBLE_DEVICES"

var nvidia = Family{
	Name:      "nvidia",
	Resource:  GPU,
	Vars:      []string{"CUDA_VISIBLE_DEVICES"},
	Fractions: true,
	detect:    detectNVIDIA,
	memory:    nvidiaMemory,
	env: func(_ *Group, ids []string) map[string]string {
		env := map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(ids, ",")}
		if len(ids) > 0 {
			// Without it CUDA counts the fastest device first, nvidia-smi by slot.
			env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
		}
		return env
	},
}

func detectNVIDIA(h *host) found {
	gpus := nvidiaFiles(h)
	if gpus == nil {
		gpus = nvidiaTool(h)
	}
	if gpus == nil {
		gpus = make([]nvidiaGPU, len(h.numbered("/dev", "nvidia")))
	}
	if len(gpus) == 0 {
		gpus = tegra(h)
	}
	f := found{ids: nvidiaIDs(h, gpus)}
	if len(f.ids) > 0 && len(gpus) > 0 {
		f.kind = nvidiaType(gpus[0].model)
	}
	return f
}

// nvidiaFiles reads what the driver tells. A container may see all GPUs there
// but have device files of its own only, or none.
func nvidiaFiles(h *host) []nvidiaGPU {
	var gpus []nvidiaGPU
	minors := h.numbered("/dev", "nvidia")
	if len(minors) == 0 && h.contained() {
		return nil
	}
	for _, address := range h.list("/proc/driver/nvidia/gpus") {
		info := h.read("/proc/driver/nvidia/gpus/" + address + "/information")
		if field(info, "GPU Excluded") == "Yes" {
			continue
		}
		minor, err := strconv.Atoi(field(info, "Device Minor"))
		if err == nil && len(minors) > 0 && !slices.Contains(minors, minor) {
			continue
		}
		gpus = append(gpus, nvidiaGPU{model: field(info, "Model"), uuid: field(info, "GPU UUID")})
	}
	return gpus
}

var nvidiaLine = regexp.MustCompile(`(?m)^GPU \d+: (.*?)(?: \(UUID: (\S+)\))?$`)

// nvidiaTool asks nvidia-smi, where the driver has no files: WSL, some
// sandboxes. The parts of a device that it lists under one are no devices: they
// are offered where a variable names them.
func nvidiaTool(h *host) []nvidiaGPU {
	var gpus []nvidiaGPU
	for _, m := range nvidiaLine.FindAllStringSubmatch(h.run("nvidia-smi", "-L"), -1) {
		gpus = append(gpus, nvidiaGPU{model: m[1], uuid: m[2]})
	}
	return gpus
}

// nvidiaIDs applies NVIDIA_VISIBLE_DEVICES, by which containers are given
// devices. Where the container runtime has done so, the devices that are left
// count from 0; where it has not, the list is applied here.
func nvidiaIDs(h *host, gpus []nvidiaGPU) []string {
	value, set := h.env(nvidiaContainerVar)
	value = strings.TrimSpace(value)
	switch {
	case len(gpus) == 0, set && (value == "" || value == "void" || value == "none"):
		return nil
	case !set || value == "all":
		return indices(len(gpus))
	}
	list := unique(splitIDs(value))
	if slices.ContainsFunc(list, func(id string) bool { return strings.HasPrefix(id, "MIG-") }) {
		return list
	}
	if len(gpus) <= len(list) {
		return indices(len(gpus))
	}
	var ids []string
	for _, want := range list {
		i := slices.IndexFunc(gpus, func(g nvidiaGPU) bool {
			return strings.HasPrefix(want, "GPU-") && strings.HasPrefix(g.uuid, want)
		})
		if n, err := strconv.Atoi(want); err == nil && n < len(gpus) {
			i = n
		}
		if i < 0 {
			return indices(len(list))
		}
		ids = append(ids, strconv.Itoa(i))
	}
	return unique(ids)
}

// nvidiaMemory asks NVML, which knows parts of devices (MIG) too, else nvidia-smi.
func nvidiaMemory(h *host, ids []string) []memoryOf {
	var all []memoryOf
	if h.helper != "" && (h.root == "" || h.nvml != "") {
		if driver, err := gpus.Start(h.helper, h.nvml); err == nil {
			defer driver.Close()
			for _, d := range driver.Devices {
				all = append(all, memoryOf{[]string{strconv.Itoa(d.Index), d.UUID}, d.Bytes})
			}
			for _, id := range ids {
				if strings.HasPrefix(id, "MIG-") {
					all = append(all, memoryOf{[]string{id}, driver.Bytes(id)})
				}
			}
			return all
		}
	}
	out := h.run("nvidia-smi", "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits")
	for line := range strings.Lines(out) {
		fields := strings.Split(line, ",")
		if len(fields) != 3 {
			continue
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		// Some print the unit all the same; a device without a size of its own says [N/A].
		mib, err := strconv.ParseInt(strings.TrimSuffix(fields[2], " MiB"), 10, 40)
		if err == nil && mib > 0 {
			all = append(all, memoryOf{fields[:2], mib << 20})
		}
	}
	return all
}
