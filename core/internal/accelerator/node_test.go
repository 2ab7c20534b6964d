package accelerator

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// text gives variables in a fixed order.
func text(env map[string]string) string {
	var parts []string
	for k, v := range env {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func TestNode_Env_EveryFamilysVariables(t *testing.T) {
	for _, c := range []struct {
		name string
		node Node
		ids  map[string][]string
		want string // what a lease with ids sets
		zero string // what a lease with nothing sets
	}{
		{"nvidia", mustDetect(t, nvidiaNode(4), nil, "CUDA_VISIBLE_DEVICES=1,3"), ids("GPU", "1", "3"),
			"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,3", "CUDA_VISIBLE_DEVICES="},
		{"nvidia, declared", mustDetect(t, fake{}, decl("GPU", 1)), ids("GPU", "0"),
			"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES="},
		{"MIG", mustDetect(t, nvidiaNode(1), nil, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b"), ids("GPU", "MIG-b"),
			"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=MIG-b", "CUDA_VISIBLE_DEVICES="},
		{"amd", mustDetect(t, amdNode(4), nil, "HIP_VISIBLE_DEVICES=1,3"), ids("GPU", "1", "3"),
			"HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=1,3", "HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES="},
		{"intel", mustDetect(t, intelNode(4), nil), ids("GPU", "2"),
			"ONEAPI_DEVICE_SELECTOR=level_zero:2", "ONEAPI_DEVICE_SELECTOR=!*:gpu"},
		{"intel, with backend", mustDetect(t, intelNode(4), nil, "ONEAPI_DEVICE_SELECTOR=level_zero:1,3"), ids("GPU", "1", "3"),
			"ONEAPI_DEVICE_SELECTOR=level_zero:1,3", "ONEAPI_DEVICE_SELECTOR=!*:gpu"},
		{"intel, bare list", mustDetect(t, intelNode(4), nil, "ONEAPI_DEVICE_SELECTOR=1,3"), ids("GPU", "3"),
			"ONEAPI_DEVICE_SELECTOR=3", "ONEAPI_DEVICE_SELECTOR=!*:gpu"},
		{"one chip of four", mustDetect(t, tpuNode(4), nil), ids("TPU", "2"),
			"TPU_CHIPS_PER_HOST_BOUNDS=1,1,1 TPU_HOST_BOUNDS=1,1,1 TPU_VISIBLE_CHIPS=2", "TPU_VISIBLE_CHIPS="},
		{"two chips of four", mustDetect(t, tpuNode(4), nil), ids("TPU", "0", "1"),
			"TPU_CHIPS_PER_HOST_BOUNDS=1,2,1 TPU_HOST_BOUNDS=1,1,1 TPU_VISIBLE_CHIPS=0,1", "TPU_VISIBLE_CHIPS="},
		{"four chips of four", mustDetect(t, tpuNode(4), nil), ids("TPU", "0", "1", "2", "3"),
			"TPU_VISIBLE_CHIPS=0,1,2,3", "TPU_VISIBLE_CHIPS="},
		{"the only chip", mustDetect(t, tpuNode(1), nil), ids("TPU", "0"), "TPU_VISIBLE_CHIPS=0", "TPU_VISIBLE_CHIPS="},
		{"neuron", mustDetect(t, neuronNode, nil), ids("neuron_cores", "1", "2"), "NEURON_RT_VISIBLE_CORES=1,2", "NEURON_RT_VISIBLE_CORES="},
		{"hpu", mustDetect(t, hpuNode("4", "5"), nil), ids("HPU", "5"), "HABANA_VISIBLE_MODULES=5", "HABANA_VISIBLE_MODULES="},
		{"npu", mustDetect(t, npuNode(2), nil), ids("NPU", "1"), "ASCEND_RT_VISIBLE_DEVICES=1", "ASCEND_RT_VISIBLE_DEVICES="},
		{"nothing", mustDetect(t, fake{}, nil), nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(c.node.Env(c.ids)); got != c.want {
				t.Errorf("Env: %s, want %s", got, c.want)
			}
			if got := text(c.node.ZeroEnv(c.ids)); got != "" {
				t.Errorf("ZeroEnv of what is used: %s", got)
			}
			if got := text(c.node.ZeroEnv(nil)); got != c.zero {
				t.Errorf("ZeroEnv: %s, want %s", got, c.zero)
			}
			if got := text(c.node.Env(nil)); got != "" {
				t.Errorf("Env of nothing: %s", got)
			}
		})
	}
}

func ids(name string, ids ...string) map[string][]string { return map[string][]string{name: ids} }

func TestNode_SeveralFamilies_UnusedOnesHidden(t *testing.T) {
	n := mustDetect(t, nvidiaNode(2).with(npuNode(1)).with(intelNode(1)), nil)
	if got := text(n.Env(ids("GPU", "1"))); got != "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1" {
		t.Error(got)
	}
	if got := text(n.ZeroEnv(ids("GPU", "1"))); got != "ASCEND_RT_VISIBLE_DEVICES= ONEAPI_DEVICE_SELECTOR=!*:gpu" {
		t.Error(got)
	}
	if got := text(n.ZeroEnv(nil)); got != "ASCEND_RT_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES= ONEAPI_DEVICE_SELECTOR=!*:gpu" {
		t.Error(got)
	}
}

func TestNode_NoneDeclaredOnAGPUNode_Hidden(t *testing.T) {
	if got := text(mustDetect(t, nvidiaNode(2), decl("GPU", 0)).ZeroEnv(nil)); got != "CUDA_VISIBLE_DEVICES=" {
		t.Error(got)
	}
}

func TestNode_OverrideOnZeroOff_NothingHidden(t *testing.T) {
	for _, name := range []string{"EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"} {
		for value, want := range map[string]string{"0": "", "false": "", "1": "CUDA_VISIBLE_DEVICES="} {
			n := mustDetect(t, nvidiaNode(1), nil, name+"="+value)
			if got := text(n.ZeroEnv(nil)); got != want {
				t.Errorf("%s=%s: %q, want %q", name, value, got, want)
			}
			if len(n.Env(ids("GPU", "0"))) != 2 {
				t.Error("tasks with a GPU must get it all the same")
			}
		}
	}
}

func TestNode_NoSet_VariablesLeftAlone(t *testing.T) {
	n := mustDetect(t, nvidiaNode(1), nil, "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1")
	if got := text(n.Env(ids("GPU", "0"))) + text(n.ZeroEnv(nil)); got != "" {
		t.Error(got)
	}
	n = mustDetect(t, amdNode(1), nil, "RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES=0")
	if got := text(n.Env(ids("GPU", "0"))); got != "HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0" {
		t.Error(got)
	}
}

func TestNode_IntIDs_OnlyPlainIndices(t *testing.T) {
	for _, c := range []struct {
		node fake
		vars string
		want bool
	}{
		{fake{}, "", true},
		{nvidiaNode(2), "", true},
		{nvidiaNode(2), "CUDA_VISIBLE_DEVICES=0,1", false},
		{nvidiaNode(1), "NVIDIA_VISIBLE_DEVICES=MIG-1", false},
		{npuNode(2), "ASCEND_RT_VISIBLE_DEVICES=0", true},
	} {
		if got := mustDetect(t, c.node, nil, strings.Fields(c.vars)...).IntIDs(); got != c.want {
			t.Errorf("%q: %v", c.vars, got)
		}
	}
}

func TestValidate_Quantities_FamiliesRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		amount float64
		ok     bool
	}{
		{"GPU", 0, true}, {"GPU", 0.5, true}, {"GPU", 0.0001, true}, {"GPU", 1, true}, {"GPU", 8, true}, {"GPU", 1.5, false},
		{"NPU", 0.25, true}, {"NPU", 2, true}, {"NPU", 2.5, false},
		{"neuron_cores", 0.5, false}, {"neuron_cores", 3, true}, {"neuron_cores", 1.5, false},
		{"HPU", 0.5, false}, {"HPU", 2, true},
		{"TPU", 0.5, false}, {"TPU", 1, true}, {"TPU", 2, true}, {"TPU", 3, false}, {"TPU", 4, true}, {"TPU", 8, true}, {"TPU", 16, false},
		{"CPU", 1.5, true}, {"custom", 0.3, true},
	} {
		a, err := resource.FromFloat(c.amount)
		if err != nil {
			t.Fatal(err)
		}
		err = Validate(c.name, a)
		if (err == nil) != c.ok {
			t.Errorf("%v of %s: %v", c.amount, c.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), fmt.Sprint(c.amount))) {
			t.Errorf("message %q", err)
		}
	}
}

func TestNames_Registry_EveryResourceOnce(t *testing.T) {
	if got := Names(); !reflect.DeepEqual(got, []string{"GPU", "HPU", "NPU", "TPU", "neuron_cores"}) {
		t.Error(got)
	}
	for need, want := range map[string]bool{"GPU": true, "neuron_cores": true, "CPU": false, "accelerator_type:A100": false} {
		if Uses(resource.Set{need: 1}) != want || IsAccelerator(need) != want {
			t.Errorf("%s is an accelerator: %v", need, !want)
		}
	}
	if Uses(resource.Set{"GPU": 0}) {
		t.Error("nothing of a GPU uses one")
	}
}
