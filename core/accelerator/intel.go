package accelerator

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	oneAPIVar     = "ONEAPI_DEVICE_SELECTOR"
	oneAPIBackend = "level_zero"
	// noGPU discards all GPUs. An empty selector would discard nothing.
	noGPU = "!*:gpu"
)

var intel = Family{
	Name:      "intel",
	Resource:  GPU,
	Vars:      []string{oneAPIVar},
	Fractions: true,
	detect:    detectIntel,
	limit:     intelLimit,
	env: func(g *Group, ids []string) map[string]string {
		if len(ids) == 0 {
			return map[string]string{oneAPIVar: noGPU}
		}
		return map[string]string{oneAPIVar: g.form + strings.Join(ids, ",")}
	},
}

// intelLimit reads a selector: terms separated by ";", each a backend, ":" and
// devices; or just indices. The form of the node is kept for its workers.
func intelLimit(env Lookup) (limit, error) {
	l := limit{form: oneAPIBackend + ":"}
	value, set := env(oneAPIVar)
	if !set {
		return l, nil
	}
	l.set = true
	discardsOnly := value != ""
	for term := range strings.SplitSeq(value, ";") {
		term = strings.TrimSpace(term)
		if discarded, ok := strings.CutPrefix(term, "!"); ok {
			if discarded == "*:gpu" || discarded == "*:*" || discarded == oneAPIBackend+":gpu" || discarded == oneAPIBackend+":*" {
				return l, nil
			}
			continue
		}
		discardsOnly = false
		backend, devices, hasBackend := strings.Cut(term, ":")
		if !hasBackend {
			backend, devices = "*", term
		}
		if backend != oneAPIBackend && backend != "*" {
			continue
		}
		for _, d := range splitIDs(devices) {
			if d == "*" || d == "gpu" {
				l.set = false
			} else if d[0] >= '0' && d[0] <= '9' {
				l.ids = append(l.ids, d)
			}
		}
		if len(l.ids) > 0 {
			l.form = strings.TrimSuffix(term, devices)
		}
	}
	if discardsOnly {
		l.set = false // what is not discarded is visible
	}
	return l, nil
}

// detectIntel counts the GPUs that the Level Zero driver would offer. Without
// that driver an Intel GPU is a graphics adapter.
func detectIntel(h *host) found {
	var f found
	if slices.ContainsFunc(levelZero, h.exists) {
		for _, n := range h.numbered("/sys/class/drm", "renderD") {
			dir := "/sys/class/drm/renderD" + strconv.Itoa(n) + "/device/"
			if h.read(dir+"vendor") != "0x8086" || !h.exists("/dev/dri/renderD"+strconv.Itoa(n)) {
				continue
			}
			f.ids = append(f.ids, strconv.Itoa(len(f.ids)))
			if f.kind == "" {
				f.kind = intelTypes[h.read(dir+"device")]
			}
		}
	}
	if len(f.ids) > 0 {
		return f
	}
	for _, m := range syclLine.FindAllStringSubmatch(h.run("sycl-ls"), -1) {
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
