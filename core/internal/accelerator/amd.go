package accelerator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	rocrVar = "ROCR_VISIBLE_DEVICES"
	hipVar  = "HIP_VISIBLE_DEVICES"
)

// The two variables filter one after the other: ROCR the devices of the node,
// HIP what ROCR has left over. So a worker gets its ids in the first and 0…n-1
// in the second.
var amd = Family{
	Name:      "amd",
	Resource:  GPU,
	Vars:      []string{hipVar, rocrVar},
	Fractions: true,
	detect:    detectAMD,
	memory:    amdMemory,
	limit:     amdLimit,
	env: func(_ *Group, ids []string) map[string]string {
		return map[string]string{
			rocrVar: strings.Join(ids, ","),
			hipVar:  strings.Join(indices(len(ids)), ","),
		}
	},
}

// amdLimit takes either variable for the limit. Both may say the same, or be
// what a worker gets; anything else is a conflict.
func amdLimit(env Lookup) (limit, error) {
	rocr, rocrSet := env(rocrVar)
	hip, hipSet := env(hipVar)
	rocrIDs, hipIDs := splitIDs(rocr), splitIDs(hip)
	switch {
	case !rocrSet:
		return limit{set: hipSet, ids: hipIDs}, nil
	case !hipSet, slices.Equal(rocrIDs, hipIDs), slices.Equal(hipIDs, indices(len(rocrIDs))):
		return limit{set: true, ids: rocrIDs}, nil
	}
	return limit{}, fmt.Errorf("%s=%s and %s=%s contradict each other: set one of them", rocrVar, rocr, hipVar, hip)
}

// detectAMD counts the GPUs that the compute driver offers and, in a container,
// that have a device file there.
func detectAMD(h *host) found {
	if s := h.read("/sys/module/amdgpu/initstate"); s != "" && s != "live" {
		return found{}
	}
	if h.contained() && !h.exists("/dev/kfd") {
		return found{} // the machine's, not this container's
	}
	gpus := amdGPUs(h)
	if len(gpus) == 0 {
		return amdTool(h)
	}
	f := found{ids: indices(len(gpus))}
	for _, g := range gpus {
		if f.kind == "" {
			f.kind = g.kind
		}
	}
	return f
}

// amdGPU is one device in the compute driver's order.
type amdGPU struct {
	render int // number of its device file, -1 if the driver does not tell
	kind   string
}

// amdGPUs reads the compute driver's list of nodes.
func amdGPUs(h *host) []amdGPU {
	const nodes = "/sys/class/kfd/kfd/topology/nodes"
	var gpus []amdGPU
	renders := h.numbered("/dev/dri", "renderD")
	for _, n := range h.numbered(nodes, "") {
		dir := nodes + "/" + strconv.Itoa(n)
		if id := h.read(dir + "/gpu_id"); id == "" || id == "0" {
			continue // a CPU
		}
		properties := map[string]string{}
		for line := range strings.Lines(h.read(dir + "/properties")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			properties[name] = value
		}
		render, err := strconv.Atoi(properties["drm_render_minor"])
		if err != nil {
			render = -1
		} else if len(renders) > 0 && !slices.Contains(renders, render) {
			continue
		}
		id, _ := strconv.Atoi(properties["device_id"])
		gpus = append(gpus, amdGPU{render, amdTypes[fmt.Sprintf("0x%04x", id)]})
	}
	return gpus
}

// amdTool asks rocm-smi.
func amdTool(h *host) found {
	out := h.run("rocm-smi", "--showid", "--json")
	var cards map[string]map[string]any
	if i := strings.IndexByte(out, '{'); i < 0 || json.NewDecoder(strings.NewReader(out[i:])).Decode(&cards) != nil {
		return found{} // before the object there may be warnings
	}
	var f found
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		card := cards[name]
		if !strings.HasPrefix(name, "card") {
			continue
		}
		f.ids = append(f.ids, strconv.Itoa(len(f.ids)))
		for _, key := range []string{"Device ID", "GPU ID"} {
			if id, ok := card[key].(string); ok && f.kind == "" {
				f.kind = amdTypes[strings.ToLower(id)]
			}
		}
	}
	return f
}

// amdTypes are the names of PCI device ids, those of eagleray.util.accelerators
// where it has one.
var amdTypes = map[string]string{
	"0x66a1": "AMD-Instinct-MI50",
	"0x738c": "AMD-Instinct-MI100",
	"0x7408": "AMD-Instinct-MI250X",
	"0x740c": "AMD-Instinct-MI250X-MI250",
	"0x740f": "AMD-Instinct-MI210",
	"0x74a0": "AMD-Instinct-MI300A",
	"0x74a1": "AMD-Instinct-MI300X-OAM",
	"0x74a2": "AMD-Instinct-MI308X",
	"0x74a5": "AMD-Instinct-MI325X-OAM",
	"0x74a9": "AMD-Instinct-MI300X-HF",
	"0x75a0": "AMD-Instinct-MI350X-OAM",
	"0x75a3": "AMD-Instinct-MI355X-OAM",
	"0x6798": "AMD-Radeon-R9-200-HD-7900",
	"0x6799": "AMD-Radeon-HD-7900",
	"0x679a": "AMD-Radeon-HD-7900",
	"0x679b": "AMD-Radeon-HD-7900",
}

// amdMemory reads what the driver tells of each GPU.
func amdMemory(h *host, _ []string) []memoryOf {
	var all []memoryOf
	for i, g := range amdGPUs(h) {
		text := h.read("/sys/class/drm/renderD" + strconv.Itoa(g.render) + "/device/mem_info_vram_total")
		if bytes, err := strconv.ParseInt(text, 10, 64); err == nil {
			all = append(all, memoryOf{[]string{strconv.Itoa(i)}, bytes})
		}
	}
	return all
}
