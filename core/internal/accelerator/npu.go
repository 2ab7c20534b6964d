package accelerator

import "regexp"

var npu = Family{
	Name:      "npu",
	Resource:  "NPU",
	Vars:      []string{"ASCEND_RT_VISIBLE_DEVICES"},
	Fractions: true,
	detect:    detectNPU,
}

// npuRow is a device's row in the table of npu-smi info: "| 0     910B4   | OK".
var npuRow = regexp.MustCompile(`(?m)^\|\s*\d+\s+(?:Ascend)?(\d+\w*)\s*\|\s*(?:OK|Warning|Alarm|Critical|UNKNOWN)`)

// detectNPU counts Ascend devices: by their files (/dev/davinci_manager is
// none), else by the tool. The tool tells the type.
func detectNPU(h *host) found {
	f := found{ids: indices(len(h.numbered("/dev", "davinci")))}
	if rows := npuRow.FindAllStringSubmatch(h.run("npu-smi", "info"), -1); rows != nil {
		if len(f.ids) == 0 {
			f.ids = indices(len(rows))
		}
		f.kind = "Ascend" + rows[0][1]
		return f
	}
	if len(f.ids) == 0 {
		return f
	}
	for _, address := range h.list("/sys/bus/pci/devices") {
		dir := "/sys/bus/pci/devices/" + address
		if h.read(dir+"/vendor") == "0x19e5" {
			if kind := npuTypes[h.read(dir+"/device")]; kind != "" {
				f.kind = kind
				break
			}
		}
	}
	return f
}

// npuTypes are the names of PCI device ids.
var npuTypes = map[string]string{
	"0xd100": "Ascend310",
	"0xd500": "Ascend310P",
	"0xd801": "Ascend910",
	"0xd802": "Ascend910B",
}
