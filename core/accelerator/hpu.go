package accelerator

import (
	"slices"
	"strconv"
)

var hpu = Family{
	Name:     "hpu",
	Resource: "HPU",
	Vars:     []string{"HABANA_VISIBLE_MODULES"},
	detect:   detectHPU,
}

// detectHPU counts Gaudi processors. The variable takes module numbers, which
// the driver tells; a container may have some of them only.
func detectHPU(h *host) found {
	var f found
	for _, n := range h.numbered("/sys/class/accel", "accel") {
		name := "accel" + strconv.Itoa(n)
		dir := "/sys/class/accel/" + name + "/device/"
		if h.read(dir+"vendor") != "0x1da3" || !h.exists("/dev/accel/"+name) {
			continue
		}
		f.ids = append(f.ids, h.read(dir+"module_id"))
		f.kind = hpuTypes[h.read(dir+"device")]
	}
	if len(f.ids) == 0 { // older drivers
		f.ids = indices(len(h.numbered("/dev", "hl")))
	}
	slices.SortFunc(f.ids, byNumber)
	if len(slices.Compact(slices.Clone(f.ids))) < len(f.ids) || slices.Contains(f.ids, "") {
		f.ids = indices(len(f.ids)) // the driver does not tell
	}
	return f
}

func byNumber(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x - y
}

// hpuTypes are the names of PCI device ids, in Ray's form.
var hpuTypes = map[string]string{
	"0x1000": "Intel-GAUDI",
	"0x1010": "Intel-GAUDI",
	"0x1020": "Intel-GAUDI2",
	"0x1060": "Intel-GAUDI3",
}
