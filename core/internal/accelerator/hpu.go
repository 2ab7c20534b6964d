package accelerator

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var hpu = Family{
	Name:     "hpu",
	Resource: "HPU",
	Vars:     []string{"HABANA_VISIBLE_MODULES"},
	detect:   detectHPU,
}

const habanaVendor = "0x1da3"

// detectHPU counts Gaudi processors. The variable takes module numbers, which
// the driver tells; a container may have some of them only. Other vendors have
// such device files too.
func detectHPU(h *host) found {
	var f found
	for _, n := range h.numbered("/sys/class/accel", "accel") {
		name := "accel" + strconv.Itoa(n)
		dir := "/sys/class/accel/" + name + "/device/"
		if h.read(dir+"vendor") != habanaVendor || !h.exists("/dev/accel/"+name) {
			continue
		}
		f.ids = append(f.ids, h.read(dir+"module_id"))
		f.kind = hpuTypes[h.read(dir+"device")]
	}
	if len(f.ids) == 0 { // older drivers
		f.ids = indices(len(h.numbered("/dev", "hl")))
	}
	if len(f.ids) == 0 {
		f = hpuTool(h)
	}
	slices.SortFunc(f.ids, byNumber)
	if len(slices.Compact(slices.Clone(f.ids))) < len(f.ids) || slices.Contains(f.ids, "") {
		f.ids = indices(len(f.ids)) // the driver does not tell
	}
	return f
}

// hpuLine is a module and its model: "3, HL-225".
var hpuLine = regexp.MustCompile(`(?m)^\s*(\d+)\s*,\s*(HL-\w+)\s*$`)

// hpuTool asks hl-smi.
func hpuTool(h *host) found {
	var f found
	for _, m := range hpuLine.FindAllStringSubmatch(h.run("hl-smi", "-Q", "module_id,name", "-f", "csv,noheader"), -1) {
		f.ids = append(f.ids, m[1])
		for model, kind := range hpuModels {
			if strings.HasPrefix(m[2], model) {
				f.kind = kind
			}
		}
	}
	return f
}

// hpuModels are the names of models by how they begin.
var hpuModels = map[string]string{
	"HL-20": "Intel-GAUDI",
	"HL-22": "Intel-GAUDI2",
	"HL-32": "Intel-GAUDI3",
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
