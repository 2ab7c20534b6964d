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

// detectTPU counts chips, which are /dev/accel<n> or VFIO groups by generation.
// Other vendors have such files too.
func detectTPU(h *host) found {
	count := 0
	for _, n := range h.numbered("/dev", "accel") {
		if vendor := h.read("/sys/class/accel/accel" + strconv.Itoa(n) + "/device/vendor"); vendor == "" || vendor == googleVendor {
			count++
		}
	}
	if count == 0 {
		for _, n := range h.numbered("/dev/vfio", "") {
			if h.vfioIsTPU(n) {
				count++
			}
		}
	}
	f := found{ids: indices(count)}
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
// counts.
func (h *host) vfioIsTPU(group int) bool {
	dir := "/sys/kernel/iommu_groups/" + strconv.Itoa(group) + "/devices"
	devices := h.list(dir)
	for _, d := range devices {
		if h.read(dir+"/"+d+"/vendor") == googleVendor {
			return true
		}
	}
	return len(devices) == 0
}

// tpuPodType is like v4-16: generation and cores or chips of the whole slice.
var tpuPodType = regexp.MustCompile(`^v\d+[a-zA-Z]*-\d+$`)
