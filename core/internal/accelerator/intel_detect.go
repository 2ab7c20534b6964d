package accelerator

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// zeVar filters before the selector does, in the daemon's workers too.
const zeVar = "ZE_AFFINITY_MASK"

// detectIntel counts the GPUs that the Level Zero driver would offer. One that
// is part of the processor is for graphics and not counted; without that driver
// so is any other card that is not made for computing.
func detectIntel(h *host) found {
	f := intelFiles(h)
	if len(f.ids) == 0 {
		f = intelTool(h)
	}
	if mask, set := h.env(zeVar); set {
		f.ids = indices(min(len(f.ids), len(splitIDs(mask))))
	}
	return f
}

func intelFiles(h *host) found {
	var f found
	driver := slices.ContainsFunc(levelZero, h.exists)
	for _, n := range h.numbered("/sys/class/drm", "renderD") {
		dir := "/sys/class/drm/renderD" + strconv.Itoa(n) + "/device"
		if h.read(dir+"/vendor") != "0x8086" || !h.exists("/dev/dri/renderD"+strconv.Itoa(n)) {
			continue
		}
		kind := intelTypes[h.read(dir+"/device")]
		if kind == "" && (!driver || h.pciAddress(dir) == integratedGPU) {
			continue
		}
		f.ids = append(f.ids, strconv.Itoa(len(f.ids)))
		if f.kind == "" {
			f.kind = kind
		}
	}
	return f
}

// integratedGPU is where every Intel processor has its own.
const integratedGPU = "0000:00:02.0"

// pciAddress returns the address of a device's folder, "" if it does not tell.
func (h *host) pciAddress(dir string) string {
	for line := range strings.Lines(h.read(dir + "/uevent")) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "PCI_SLOT_NAME="); ok {
			return address
		}
	}
	real, err := filepath.EvalSymlinks(h.path(dir))
	if err != nil {
		return ""
	}
	return filepath.Base(real)
}

// intelTool asks sycl-ls.
func intelTool(h *host) found {
	var f found
	for _, m := range syclLine.FindAllStringSubmatch(h.run("sycl-ls"), -1) {
		if syclIntegrated.MatchString(m[0]) {
			continue
		}
		f.ids = append(f.ids, strconv.Itoa(len(f.ids)))
		if f.kind == "" {
			f.kind = intelType(m[0])
		}
	}
	return f
}

var levelZero = []string{
	"/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1", "/usr/lib64/libze_intel_gpu.so.1",
	"/usr/lib/libze_intel_gpu.so.1", "/usr/local/lib/libze_intel_gpu.so.1",
}

// syclLine is a line like
// [level_zero:gpu][level_zero:0] Intel(R) oneAPI …, Intel(R) Data Center GPU Max 1550 12.60.7 [1.6.33]
var syclLine = regexp.MustCompile(`(?m)^\[(?:ext_oneapi_)?level_zero:gpu(?::\d+)?\].*$`)

// syclIntegrated are the names of GPUs that are part of a processor: UHD
// Graphics 770, Iris(R) Xe Graphics, Graphics [0x7d55], Arc(TM) Graphics, Arc(TM) 140V GPU.
var syclIntegrated = regexp.MustCompile(`Intel\(R\) (?:U?HD |Iris|Graphics |Arc\(TM\) (?:Graphics|\d+\w? GPU))`)

var syclModel = regexp.MustCompile(`Intel\(R\) [^,]*?GPU ((?:Max|Flex)(?: Series)? \d+)`)

func intelType(line string) string {
	m := syclModel.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return "Intel-GPU-" + strings.ReplaceAll(strings.ReplaceAll(m[1], " Series", ""), " ", "-")
}

// intelTypes are the names of PCI device ids, in Ray's form.
var intelTypes = map[string]string{
	"0x0bd5": "Intel-GPU-Max-1550",
	"0x0bd6": "Intel-GPU-Max-1550",
	"0x0bda": "Intel-GPU-Max-1100",
	"0x56c0": "Intel-GPU-Flex-170",
	"0x56c1": "Intel-GPU-Flex-140",
}
