package accelerator

import (
	"encoding/json"
	"strconv"
	"strings"
)

const neuronVar = "NEURON_RT_VISIBLE_CORES"

var neuron = Family{
	Name:     "neuron",
	Resource: "neuron_cores",
	Vars:     []string{neuronVar},
	detect:   detectNeuron,
	limit: func(env Lookup) (limit, error) {
		value, ok := env(neuronVar)
		return limit{set: ok, ids: expandRanges(splitIDs(value))}, nil
	},
}

// detectNeuron sums the cores of the devices.
func detectNeuron(h *host) found {
	f := found{kind: "aws-neuron-core"}
	if cores := neuronTool(h.run("neuron-ls", "--json-output")); cores > 0 {
		f.ids = indices(cores)
		return f
	}
	cores := 0
	for _, n := range h.numbered("/dev", "neuron") {
		c, err := strconv.Atoi(h.read("/sys/devices/virtual/neuron_device/neuron" + strconv.Itoa(n) + "/core_count"))
		if err == nil && c > 0 && c <= 1024 {
			cores += c
		}
	}
	f.ids = indices(cores)
	return f
}

// neuronTool reads a list of devices, which newer versions put into an object.
func neuronTool(out string) (cores int) {
	type device struct {
		Cores int `json:"nc_count"`
	}
	var devices []device
	if json.Unmarshal([]byte(out), &devices) != nil {
		var whole struct {
			Devices []device `json:"neuron_devices"`
		}
		_ = json.Unmarshal([]byte(out), &whole)
		devices = whole.Devices
	}
	for _, d := range devices {
		if d.Cores > 0 && d.Cores <= 1024 {
			cores += d.Cores
		}
	}
	return cores
}

// expandRanges replaces "1-3" by "1", "2", "3".
func expandRanges(ids []string) []string {
	var all []string
	for _, id := range ids {
		first, last, _ := strings.Cut(id, "-")
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || b < a || len(all)+b-a >= maxDeclared {
			all = append(all, id)
			continue
		}
		for n := a; n <= b; n++ {
			all = append(all, strconv.Itoa(n))
		}
	}
	return all
}
