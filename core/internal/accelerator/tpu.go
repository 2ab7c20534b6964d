package accelerator

import (
	"regexp"
	"strconv"
	"strings"
)

const googleVendor = "0x1ae0"

var tpu = Family{
	Name:     "tpu",
	Resource: "TPU",
	Vars:     []string{"TPU_VISIBLE_CHIPS"},
	Counts:   []int{1, 2, 4, 8},
	detect:   detectTPU,
	env:      tpuEnv,
}

// tpuEnv says, for a part of the host, also how the chips are laid out; for all
// of them the runtime knows.
func tpuEnv(g *Group, ids []string) map[string]string {
	env := map[string]string{"TPU_VISIBLE_CHIPS": strings.Join(ids, ",")}
	if bounds := map[int]string{1: "1,1,1", 2: "1,2,1"}[len(ids)]; bounds != "" && len(ids) < max(len(g.IDs), g.Detected) {
		env["TPU_CHIPS_PER_HOST_BOUNDS"] = bounds
		env["TPU_HOST_BOUNDS"] = "1,1,1"
	}
	return env
}

// tpuLabels are the labels of a node of a slice, by the variables that GKE sets.
var tpuLabels = map[string]string{
	"TPU_NAME":             "ray.io/tpu-slice-name",
	"TPU_WORKER_ID":        "ray.io/tpu-worker-id",
	"TPU_TOPOLOGY":         "ray.io/tpu-topology",
	"TPU_ACCELERATOR_TYPE": "ray.io/tpu-pod-type",
}

// detectTPU counts chips, which are /dev/accel<n> or VFIO groups by generation.
// Other vendors have such files too.
func detectTPU(h *host) found {
	count, kind := 0, ""
	for _, n := range h.numbered("/dev", "accel") {
		dir := "/sys/class/accel/accel" + strconv.Itoa(n) + "/device"
		if vendor := h.read(dir + "/vendor"); vendor == "" || vendor == googleVendor {
			count++
			kind = tpuTypes[h.read(dir+"/device")]
		}
	}
	if count == 0 {
		for _, n := range h.numbered("/dev/vfio", "") {
			if chip, ok := h.vfioIsTPU(n); ok {
				count++
				kind = chip
			}
		}
	}
	f := found{ids: indices(count), kind: kind, labels: make(map[string]string)}
	for variable, label := range tpuLabels {
		if value, ok := h.env(variable); ok && value != "" {
			f.labels[label] = value
		}
	}
	podType, _ := h.env("TPU_ACCELERATOR_TYPE") // GKE sets these
	if !tpuPodType.MatchString(podType) {
		return f
	}
	generation, _, _ := strings.Cut(podType, "-")
	f.kind = "TPU-" + strings.ToUpper(generation)
	name, _ := h.env("TPU_NAME")
	worker, ok := h.env("TPU_WORKER_ID")
	if name != "" && ok {
		f.extras = append(f.extras, name)
		if worker == "0" {
			f.extras = append(f.extras, "TPU-"+podType+"-head")
		}
	}
	return f
}

// vfioIsTPU looks at the devices of a VFIO group; one that cannot be looked at
// counts. kind is the type's name, "" when unknown.
func (h *host) vfioIsTPU(group int) (kind string, ok bool) {
	dir := "/sys/kernel/iommu_groups/" + strconv.Itoa(group) + "/devices"
	devices := h.list(dir)
	for _, d := range devices {
		if h.read(dir+"/"+d+"/vendor") == googleVendor {
			return tpuTypes[h.read(dir+"/"+d+"/device")], true
		}
	}
	return "", len(devices) == 0
}

// tpuTypes are Ray's names of PCI device ids, for machines whose environment
// does not say more. Generations 2 and 3 have one id.
var tpuTypes = map[string]string{
	"0x005e": "TPU-V4",
	"0x0062": "TPU-V5P",
	"0x0063": "TPU-V5LITEPOD",
	"0x006f": "TPU-V6E",
	"0x0076": "TPU-V7X",
}

// tpuPodType is like v4-16: generation and cores or chips of the whole slice.
var tpuPodType = regexp.MustCompile(`^v\d+[a-zA-Z]*-\d+$`)
