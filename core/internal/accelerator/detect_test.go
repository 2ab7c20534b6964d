package accelerator

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// One line per sentence of the accelerators' contract: the node's files and
// variables, what is declared, and what comes out as "RESOURCE:ids type".
func TestDetect_Nodes_OfferWhatTheyHave(t *testing.T) {
	for _, c := range []struct {
		name     string
		node     fake
		declared map[string]float64
		vars     string
		want     string
	}{
		{"nothing", fake{}, nil, "", ""},
		{"nothing, others' device files", fake{"dev/nvidiactl": "", "dev/davinci_manager": "", "dev/accel/accel0": "", "dev/vfio/vfio": ""}, nil, "", ""},
		{"nothing, 4 declared", fake{}, decl("GPU", 4), "", "GPU:0,1,2,3"},

		{"nvidia", nvidiaNode(3), nil, "", "GPU:0,1,2 A100"},
		{"nvidia, container with two device files", nvidiaNode(4).with(fake{}).without("dev/nvidia0", "dev/nvidia2"), nil, "", "GPU:0,1 A100"},
		{"nvidia, one excluded", nvidiaNode(1).with(fake{"proc/driver/nvidia/gpus/0000:09:00.0/information": "Model: x\nGPU Excluded: Yes\n"}), nil, "", "GPU:0 A100"},
		{"nvidia by tool", fake{"bin/nvidia-smi": "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\nGPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-2)"}, nil, "", "GPU:0,1 GeForce-RTX-3090"},
		{"nvidia by tool, parts under a device", fake{"bin/nvidia-smi": "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-2)\n  MIG 3g.20gb     Device  1: (UUID: MIG-3)"}, nil, "", "GPU:0 A100"},
		{"nvidia under WSL", fake{"usr/lib/wsl/lib/nvidia-smi": "#!/bin/sh\necho 'GPU 0: NVIDIA L4 (UUID: GPU-1)'\n", "dev/dxg": ""}, nil, "", "GPU:0 L4"},
		{"nvidia, driver before its device files", nvidiaNode(2).without("dev/nvidia0", "dev/nvidia1"), nil, "", "GPU:0,1 A100"},
		{"nvidia machine, container without devices", nvidiaNode(2).without("dev/nvidia0", "dev/nvidia1"), nil, "KUBERNETES_SERVICE_HOST=10.0.0.1", ""},
		{"nvidia machine, docker without devices", nvidiaNode(2).without("dev/nvidia0", "dev/nvidia1").with(fake{".dockerenv": ""}), nil, "", ""},
		{"nvidia, container with devices", nvidiaNode(2).with(fake{".dockerenv": ""}), nil, "", "GPU:0,1 A100"},
		{"Jetson", fake{"dev/nvhost-gpu": "", "dev/nvmap": "", "etc/nv_tegra_release": "# R32", "proc/device-tree/compatible": "nvidia,p3450\x00nvidia,tegra210\x00"}, nil, "", "GPU:0 Tegra-X1"},
		{"Jetson with newer files", fake{"dev/nvgpu/igpu0/ctrl": "", "proc/device-tree/compatible": "nvidia,p3768\x00nvidia,tegra234\x00"}, nil, "", "GPU:0 Orin"},
		{"Jetson with the tool", fake{"dev/nvidia0": "", "bin/nvidia-smi": "GPU 0: Orin (nvgpu) (UUID: 54-a)"}, nil, "", "GPU:0 Orin"},
		{"nvidia by device files", fake{"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": ""}, nil, "", "GPU:0,1"},
		{"nvidia, tool fails", fake{"bin/nvidia-smi": "#!/bin/sh\necho GPU 0: x\nexit 9\n"}, nil, "", ""},
		{"nvidia, fewer declared", nvidiaNode(3), decl("GPU", 1), "", "GPU:0 A100"},
		{"nvidia, more declared", nvidiaNode(1), decl("GPU", 3), "", "GPU:0,1,2 A100"},
		{"more declared than a container list leaves", nvidiaNode(4), decl("GPU", 3), "NVIDIA_VISIBLE_DEVICES=1,3", "GPU:1,3,0 A100"},
		{"nvidia, none declared", nvidiaNode(2), decl("GPU", 0), "", "GPU: A100"},
		{"limit", nvidiaNode(4), nil, "CUDA_VISIBLE_DEVICES=1,3", "GPU:1,3 A100 limited"},
		{"limit without detection", fake{}, nil, "CUDA_VISIBLE_DEVICES=1,3", ""},
		{"limit, two declared, none there", fake{}, decl("GPU", 2), "CUDA_VISIBLE_DEVICES=1,3", "GPU:1,3 limited"},
		{"limit, one declared", nvidiaNode(4), decl("GPU", 1), "CUDA_VISIBLE_DEVICES=3, 1", "GPU:3 A100 limited"},
		{"limit longer than what is there", nvidiaNode(1), nil, "CUDA_VISIBLE_DEVICES=0,1,2", "GPU:0 A100 limited"},
		{"limit to nothing", nvidiaNode(2), nil, "CUDA_VISIBLE_DEVICES=", "GPU: A100 limited"},
		{"limit to -1", nvidiaNode(2), nil, "CUDA_VISIBLE_DEVICES=-1", "GPU: A100 limited"},
		{"limit ends at -1", nvidiaNode(3), nil, "CUDA_VISIBLE_DEVICES=2,-1,0", "GPU:2 A100 limited"},
		{"limit NoDevFiles", nvidiaNode(2), nil, "CUDA_VISIBLE_DEVICES=NoDevFiles", "GPU: A100 limited"},
		{"limit by UUID", nvidiaNode(4), nil, "CUDA_VISIBLE_DEVICES=GPU-aaaa3,GPU-aaaa0", "GPU:GPU-aaaa3,GPU-aaaa0 A100 limited"},
		{"MIG parts of one device", nvidiaNode(1), nil, "CUDA_VISIBLE_DEVICES=MIG-1/2/0,MIG-1/3/0", "GPU:MIG-1/2/0,MIG-1/3/0 A100 limited"},
		{"container void", nvidiaNode(2), nil, "NVIDIA_VISIBLE_DEVICES=void", ""},
		{"container none", nvidiaNode(2), nil, "NVIDIA_VISIBLE_DEVICES=none", ""},
		{"container empty", nvidiaNode(2), nil, "NVIDIA_VISIBLE_DEVICES=", ""},
		{"container void, declared", nvidiaNode(2), decl("GPU", 2), "NVIDIA_VISIBLE_DEVICES=void", "GPU:0,1"},
		{"container all", nvidiaNode(2), nil, "NVIDIA_VISIBLE_DEVICES=all", "GPU:0,1 A100"},
		{"container list, applied", nvidiaNode(2), nil, "NVIDIA_VISIBLE_DEVICES=4,5", "GPU:0,1 A100"},
		{"container list, not applied", nvidiaNode(4), nil, "NVIDIA_VISIBLE_DEVICES=1,3", "GPU:1,3 A100"},
		{"container UUID, not applied", nvidiaNode(4), nil, "NVIDIA_VISIBLE_DEVICES=GPU-aaaa2", "GPU:2 A100"},
		{"container list with repetitions, not applied", nvidiaNode(4), nil, "NVIDIA_VISIBLE_DEVICES=1,GPU-aaaa1,1", "GPU:1 A100"},
		{"container UUID, unknown", nvidiaNode(4), nil, "NVIDIA_VISIBLE_DEVICES=GPU-zzzz,GPU-yyyy", "GPU:0,1 A100"},
		{"container MIG", nvidiaNode(1), nil, "NVIDIA_VISIBLE_DEVICES=MIG-7,MIG-8", "GPU:MIG-7,MIG-8 A100"},

		{"amd", amdNode(2), nil, "", "GPU:0,1 AMD-Instinct-MI300X-OAM"},
		{"amd, container with one device file", amdNode(3).without("dev/dri/renderD128", "dev/dri/renderD130"), nil, "", "GPU:0 AMD-Instinct-MI300X-OAM"},
		{"amd machine, container without devices", amdNode(2).without("dev/dri/renderD128", "dev/dri/renderD129"), nil, "container=podman", ""},
		{"amd, only ids", fake{"sys/class/kfd/kfd/topology/nodes/0/gpu_id": "0", "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "51140"}, nil, "", "GPU:0"},
		{"amd by tool, after a warning", fake{"bin/rocm-smi": "WARNING: low-power state\n" + `{"card0":{"Device ID":"0x74a1"}}`}, nil, "", "GPU:0 AMD-Instinct-MI300X-OAM"},
		{"amd, nonsense tool", fake{"bin/rocm-smi": `{"card0":`}, nil, "", ""},
		{"amd, driver not up", amdNode(2).with(fake{"sys/module/amdgpu/initstate": "coming"}), nil, "", ""},
		{"amd by tool", fake{"bin/rocm-smi": `{"card0":{"Device ID":"0x740f"},"card1":{"Device ID":"0x740f"},"system":{}}`}, nil, "", "GPU:0,1 AMD-Instinct-MI210"},
		{"amd, HIP", amdNode(4), nil, "HIP_VISIBLE_DEVICES=1,3", "GPU:1,3 AMD-Instinct-MI300X-OAM limited"},
		{"amd, ROCR", amdNode(4), nil, "ROCR_VISIBLE_DEVICES=2", "GPU:2 AMD-Instinct-MI300X-OAM limited"},
		{"amd, both the same", amdNode(4), nil, "HIP_VISIBLE_DEVICES=1,2 ROCR_VISIBLE_DEVICES=1,2", "GPU:1,2 AMD-Instinct-MI300X-OAM limited"},
		{"amd, as in one of our workers", amdNode(4), nil, "HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=2,3", "GPU:2,3 AMD-Instinct-MI300X-OAM limited"},

		{"intel", intelNode(2), nil, "", "GPU:0,1 Intel-GPU-Max-1550"},
		{"intel, made for computing", intelNode(1).without("usr/lib64/libze_intel_gpu.so.1"), nil, "", "GPU:0 Intel-GPU-Max-1550"},
		{"intel card", intelCard, nil, "", "GPU:0"},
		{"intel card without Level Zero", intelCard.without("usr/lib64/libze_intel_gpu.so.1"), nil, "", ""},
		{"intel, part of the processor", intelCard.with(fake{"sys/class/drm/renderD128/device/uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n"}), nil, "", ""},
		{"intel, masked", intelNode(4), nil, "ZE_AFFINITY_MASK=2,3", "GPU:0,1 Intel-GPU-Max-1550"},
		{"intel by tool", fake{"bin/sycl-ls": "[opencl:cpu][opencl:0] Intel(R) OpenCL, Intel(R) Xeon(R) 1.2\n" +
			"[level_zero:gpu][level_zero:0] Intel(R) oneAPI over Level-Zero, Intel(R) Data Center GPU Max 1100 12.60.7 [1.6]\n" +
			"[ext_oneapi_level_zero:gpu:1] Intel(R) Level-Zero, Intel(R) Data Center GPU Max 1100 1.3\n" +
			"[level_zero:gpu][level_zero:2] Intel(R) oneAPI over Level-Zero, Intel(R) UHD Graphics 770 12.2.0 [1.6]"}, nil, "", "GPU:0,1 Intel-GPU-Max-1100"},
		{"intel, bare list", intelNode(4), nil, "ONEAPI_DEVICE_SELECTOR=1,3", "GPU:1,3 Intel-GPU-Max-1550 limited"},
		{"intel, with backend", intelNode(4), nil, "ONEAPI_DEVICE_SELECTOR=level_zero:1,3", "GPU:1,3 Intel-GPU-Max-1550 limited"},
		{"intel, all GPUs", intelNode(2), nil, "ONEAPI_DEVICE_SELECTOR=opencl:cpu;level_zero:gpu", "GPU:0,1 Intel-GPU-Max-1550"},
		{"intel, other backend", intelNode(2), nil, "ONEAPI_DEVICE_SELECTOR=opencl:cpu", "GPU: Intel-GPU-Max-1550 limited"},
		{"intel, discard", intelNode(2), nil, "ONEAPI_DEVICE_SELECTOR=!opencl:*", "GPU:0,1 Intel-GPU-Max-1550"},
		{"intel, as in one of our workers", intelNode(2), nil, "ONEAPI_DEVICE_SELECTOR=!*:gpu", "GPU: Intel-GPU-Max-1550 limited"},

		{"tpu", tpuNode(4), nil, "TPU_ACCELERATOR_TYPE=v4-16", "TPU:0,1,2,3 TPU-V4"},
		{"tpu, type by its chips", tpuNode(1).with(fake{"sys/class/accel/accel0/device/device": "0x0063"}), nil, "", "TPU:0 TPU-V5LITEPOD"},
		{"tpu, malformed type", tpuNode(1), nil, "TPU_ACCELERATOR_TYPE=v4", "TPU:0"},
		{"tpu, another vendor's files", tpuNode(2).with(fake{"sys/class/accel/accel1/device/vendor": "0x1d0f"}), nil, "", "TPU:0"},
		{"tpu by vfio", fake{"dev/vfio/vfio": "", "dev/vfio/0": "", "dev/vfio/1": "", "dev/vfio/7": "",
			"sys/kernel/iommu_groups/7/devices/0000:01:00.0/vendor": "0x10de",
			"sys/kernel/iommu_groups/1/devices/0000:02:00.0/vendor": "0x1ae0"}, nil, "", "TPU:0,1"},
		{"tpu limit", tpuNode(4), nil, "TPU_VISIBLE_CHIPS=2,3", "TPU:2,3 limited"},

		{"neuron", neuronNode, nil, "", "neuron_cores:0,1,2,3 aws-neuron-core"},
		{"neuron, newer tool", fake{"bin/neuron-ls": `{"neuron_devices":[{"nc_count":8}]}`}, nil, "", "neuron_cores:0,1,2,3,4,5,6,7 aws-neuron-core"},
		{"neuron without tool", fake{"dev/neuron0": "", "sys/devices/virtual/neuron_device/neuron0/core_count": "2"}, nil, "", "neuron_cores:0,1 aws-neuron-core"},
		{"neuron, nonsense tool", fake{"bin/neuron-ls": "no driver"}, nil, "", ""},
		{"neuron range", neuronNode, nil, "NEURON_RT_VISIBLE_CORES=1-3", "neuron_cores:1,2,3 aws-neuron-core limited"},
		{"neuron declared", fake{}, decl("neuron_cores", 2), "", "neuron_cores:0,1 aws-neuron-core"},

		{"hpu", hpuNode("3", "1"), nil, "", "HPU:1,3 Intel-GAUDI2"},
		{"hpu, driver tells no modules", hpuNode("", ""), nil, "", "HPU:0,1 Intel-GAUDI2"},
		{"hpu, older driver", fake{"dev/hl0": "", "dev/hl1": "", "dev/hl_controlD0": ""}, nil, "", "HPU:0,1"},
		{"hpu by tool", fake{"bin/hl-smi": "1, HL-325L\n0, HL-325L"}, nil, "", "HPU:0,1 Intel-GAUDI3"},
		{"hpu limit", hpuNode("0", "1", "2"), nil, "HABANA_VISIBLE_MODULES=2,0", "HPU:2,0 Intel-GAUDI2 limited"},

		{"npu", npuNode(2), nil, "", "NPU:0,1 Ascend910B"},
		{"npu by tool", npuNode(1).with(fake{"bin/npu-smi": "| NPU   Name   | Health |\n| 0     910B4  | OK     | 90.1 |"}), nil, "", "NPU:0 Ascend910B4"},
		{"npu by tool alone", fake{"bin/npu-smi": "| npu-smi 23.0.0                   Version: 23.0.0 |\n| NPU   Name    | Health |\n| Chip          | Bus-Id |\n" +
			"| 0     910B4   | OK     |\n| 0             | 0000:C1:00.0 |\n| 1     910B4   | OK     |\n| 0             | 0000:C2:00.0 |\n| No running processes found in NPU 0 |"}, nil, "", "NPU:0,1 Ascend910B4"},
		{"npu limit", npuNode(8), nil, "ASCEND_RT_VISIBLE_DEVICES=4,5", "NPU:4,5 Ascend910B limited"},

		{"several families", nvidiaNode(1).with(tpuNode(1)).with(npuNode(1)), nil, "", "GPU:0 A100 | TPU:0 | NPU:0 Ascend910B"},
		{"nvidia and intel", nvidiaNode(1).with(intelNode(2)), nil, "", "GPU:0 A100 | GPU:"},
		{"nvidia and intel, variable of one", nvidiaNode(1).with(intelNode(2)), nil, "ONEAPI_DEVICE_SELECTOR=level_zero:1", "GPU: | GPU:1 Intel-GPU-Max-1550 limited"},
		{"nvidia and amd, family named", nvidiaNode(1).with(amdNode(2)), nil, "EAGLERAY_GPU_FAMILY=AMD", "GPU: | GPU:0,1 AMD-Instinct-MI300X-OAM"},
		{"only amd, another family named", amdNode(1), nil, "EAGLERAY_GPU_FAMILY=nvidia", "GPU:0 AMD-Instinct-MI300X-OAM"},
		{"names that are no accelerator", fake{}, map[string]float64{"a": 1.5, "CPU": 3}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := mustDetect(t, c.node, c.declared, strings.Fields(c.vars)...)
			if got := describe(n); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if _, err := resource.NewLedger(nil, n.Devices()); err != nil {
				t.Error(err)
			}
		})
	}
}

func decl(name string, n float64) map[string]float64 { return map[string]float64{name: n} }

func (f fake) without(names ...string) fake {
	all := f.with(nil)
	for _, name := range names {
		delete(all, name)
	}
	return all
}

func describe(n Node) string {
	var parts []string
	for _, g := range n.Groups {
		s := g.Family.Resource + ":" + strings.Join(g.IDs, ",")
		if g.Type != "" {
			s += " " + g.Type
		}
		if g.FromVariable {
			s += " limited"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " | ")
}

func TestDetect_WrongDeclarations_ErrorNamesVariableAndNumbers(t *testing.T) {
	for _, c := range []struct {
		declared map[string]float64
		vars     string
		want     []string
	}{
		{decl("GPU", 3), "CUDA_VISIBLE_DEVICES=1,3", []string{"GPU: 3", "CUDA_VISIBLE_DEVICES=1,3", "to 2"}},
		{decl("GPU", 1), "CUDA_VISIBLE_DEVICES=", []string{"GPU: 1", "CUDA_VISIBLE_DEVICES=", "to 0"}},
		{decl("GPU", 2), "ROCR_VISIBLE_DEVICES=7", []string{"ROCR_VISIBLE_DEVICES=7", "to 1"}},
		{decl("NPU", 2), "ASCEND_RT_VISIBLE_DEVICES=7", []string{"NPU: 2", "ASCEND_RT_VISIBLE_DEVICES=7"}},
		{decl("GPU", 1.5), "", []string{"GPU: 1.5", "whole number"}},
		{decl("GPU", -1), "", []string{"GPU: -1"}},
		{decl("TPU", 1e9), "", []string{"TPU: 1e+09"}},
		{decl("GPU", 1), "HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=2", []string{"HIP_VISIBLE_DEVICES=0,1", "ROCR_VISIBLE_DEVICES=2"}},
		{nil, "EAGLERAY_GPU_FAMILY=voodoo", []string{"voodoo", "nvidia, amd, intel"}},
		{nil, "CUDA_VISIBLE_DEVICES=0,1,0", []string{"CUDA_VISIBLE_DEVICES", `"0" twice`}},
	} {
		n, err := detect(t, fake{}, c.declared, strings.Fields(c.vars)...)
		if err == nil {
			t.Errorf("%v with %s: %s", c.declared, c.vars, describe(n))
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v with %s: %q does not say %q", c.declared, c.vars, err, want)
			}
		}
	}
}

func TestDetect_DeclaredAndNothingThere_FamilyOfTheVariable(t *testing.T) {
	for vars, want := range map[string]string{
		"":                          "nvidia",
		"HIP_VISIBLE_DEVICES=0":     "amd",
		"ROCR_VISIBLE_DEVICES=0":    "amd",
		"ONEAPI_DEVICE_SELECTOR=0":  "intel",
		"EAGLERAY_GPU_FAMILY=intel": "intel",
		"EAGLERAY_GPU_FAMILY=":      "nvidia",
		"EAGLERAY_GPU_FAMILY=intel HIP_VISIBLE_DEVICES=0":                                     "amd",
		"EAGLERAY_GPU_FAMILY=intel HIP_VISIBLE_DEVICES=0 ONEAPI_DEVICE_SELECTOR=level_zero:0": "intel",
		"CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES=0":                                         "amd",
	} {
		n := mustDetect(t, fake{}, decl("GPU", 1), strings.Fields(vars)...)
		if len(n.Groups) != 1 || n.Groups[0].Family.Name != want {
			t.Errorf("%q: %s, want %s", vars, describe(n), want)
		}
	}
}

// tools are all that detection asks.
var tools = []string{"nvidia-smi", "rocm-smi", "sycl-ls", "neuron-ls", "hl-smi", "npu-smi"}

func TestDetect_ToolsHang_AllCutOffAtOnce(t *testing.T) {
	f := fake{}
	for _, tool := range tools {
		// A process of their own keeps the output open.
		f["bin/"+tool] = "#!/bin/sh\nsleep 60 &\nexec sleep 60\n"
	}
	root := f.root(t)
	start := time.Now()
	const each = time.Second
	n, err := Detect(env(), Options{Root: root, ToolPath: filepath.Join(root, "bin"), ToolTimeout: each})
	if len(n.Notes) != len(tools) || !strings.Contains(n.Notes[0], "hl-smi did not answer within 1s") {
		t.Errorf("notes %q", n.Notes)
	}
	// One after the other they take at least as long as this, on any machine.
	if took := time.Since(start); err != nil || len(n.Groups) != 0 || took >= time.Duration(len(tools))*each {
		t.Errorf("%s, %v after %s", describe(n), err, took)
	}
}

func TestDetect_DriverNeverAnswers_FamilyIsGivenUp(t *testing.T) {
	root := npuNode(2).with(nvidiaNode(1)).root(t)
	pipe := filepath.Join(root, "proc/driver/nvidia/gpus/0000:00:00.0/information")
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := Detect(env(), Options{Root: root, ToolPath: filepath.Join(root, "bin"), ToolTimeout: 50 * time.Millisecond})
	if got := describe(n); err != nil || got != "NPU:0,1 Ascend910B" || fmt.Sprint(n.Notes) != "[the driver of GPU devices (nvidia) did not answer: they count as absent]" {
		t.Errorf("%s, %q, %v", got, n.Notes, err)
	}
	end, err := os.OpenFile(pipe, os.O_WRONLY, 0) // lets the reader go
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
}

func TestDetect_ToolsBroken_NothingDetected(t *testing.T) {
	lines := strings.Repeat("GPU 7: x (UUID: GPU-1)\n1, HL-225\n| 0     910B4   | OK |\n[level_zero:gpu][level_zero:0] x\n", maxDetected+1)
	notes := map[string]string{"fails": "exit status 9", "endless": "more than 1048576 bytes", "silent": "", "garbage": "", "too many": ""}
	for name, text := range map[string]string{
		"fails":          "#!/bin/sh\necho GPU 0: x\nexit 9\n",
		"killed":         "#!/bin/sh\nkill -9 $$\n",
		"no interpreter": "#!/nowhere/sh\n",
		"garbage":        "#!/bin/sh\nhead -c 300000 /dev/urandom\n",
		"endless":        "#!/bin/sh\nexec yes 'GPU 0: x (UUID: GPU-1)'\n",
		"too many":       lines,
		"silent":         "#!/bin/sh\nexit 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := fake{}
			for _, tool := range tools {
				f["bin/"+tool] = text
			}
			n := mustDetect(t, f, nil)
			if len(n.Groups) != 0 {
				t.Error(describe(n))
			}
			if want, known := notes[name]; known && want == "" && len(n.Notes) > 0 || want != "" && !strings.Contains(strings.Join(n.Notes, ";"), want) {
				t.Errorf("notes %q, want %q", n.Notes, want)
			}
		})
	}
}

func TestDetect_Tool_DoesNotSeeTheVariables(t *testing.T) {
	t.Setenv("NEURON_RT_VISIBLE_CORES", "0")
	f := fake{"bin/neuron-ls": "#!/bin/sh\necho \"[{\\\"nc_count\\\": 4$NEURON_RT_VISIBLE_CORES}]\"\n"}
	if n := mustDetect(t, f, nil); describe(n) != "neuron_cores:0,1,2,3 aws-neuron-core" {
		t.Error(describe(n))
	}
}

func TestDetect_ThisMachine_NoError(t *testing.T) {
	if _, err := Detect(os.LookupEnv, Options{}); err != nil {
		t.Error(err)
	}
}

func TestNode_TPUSlice_ResourcesOfItsHead(t *testing.T) {
	vars := []string{"TPU_ACCELERATOR_TYPE=v4-16", "TPU_NAME=my-tpu", "TPU_WORKER_ID=0"}
	got := mustDetect(t, tpuNode(4), nil, vars...).Resources().String()
	if want := `{"TPU-v4-16-head": 1, "accelerator_type:TPU-V4": 1, "my-tpu": 1}`; got != want {
		t.Errorf("worker 0: %s, want %s", got, want)
	}
	vars[2] = "TPU_WORKER_ID=1"
	got = mustDetect(t, tpuNode(4), nil, vars...).Resources().String()
	if want := `{"accelerator_type:TPU-V4": 1, "my-tpu": 1}`; got != want {
		t.Errorf("worker 1: %s, want %s", got, want)
	}
}

func TestNode_Types_ResourceAndLabel(t *testing.T) {
	n := mustDetect(t, nvidiaNode(2), nil)
	if got := n.Resources().String(); got != `{"accelerator_type:A100": 1}` {
		t.Error(got)
	}
	if got := n.Labels(); !reflect.DeepEqual(got, map[string]string{"ray.io/accelerator-type": "A100"}) {
		t.Error(got)
	}
	if n = mustDetect(t, nvidiaNode(2), decl("GPU", 0)); len(n.Resources()) != 0 || len(n.Labels()) != 0 || len(n.Devices()) != 0 {
		t.Errorf("with 0 declared: %v, %v, %v", n.Resources(), n.Labels(), n.Devices())
	}
}

// The tools of vendors get no secrets of the cluster: this one fails when it has the token.
func TestTools_TokenInTheEnvironment_IsNotForThem(t *testing.T) {
	t.Setenv("RAY_AUTH_TOKEN", "secret")
	tool := "#!/bin/sh\ntest -z \"$RAY_AUTH_TOKEN\" || exit 1\necho 'GPU 0: NVIDIA L4 (UUID: GPU-1)'\n"
	if n := mustDetect(t, fake{"bin/nvidia-smi": tool}, nil); len(n.Groups) != 1 {
		t.Errorf("the tool got the token, or there is no GPU: %+v", n)
	}
}

func TestNVIDIAType_Models_NamesOfRay(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA A100-SXM4-40GB": "A100", "NVIDIA H100 80GB HBM3": "H100", "NVIDIA H200": "H200", "NVIDIA L40S": "L40S",
		"NVIDIA A10G": "A10G", "Tesla V100-SXM2-16GB": "V100", "Tesla T4": "T4", "Tesla K80": "K80", "NVIDIA L4": "L4",
		"NVIDIA Tesla P100-PCIE-16GB": "P100", "NVIDIA GeForce RTX 3090": "GeForce-RTX-3090", "GeForce GTX 1080 Ti": "GTX-1080",
		"Quadro RTX 6000": "RTX-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000", "A100-SXM4-40GB": "A100",
		"Orin (nvgpu)": "Orin", "NVIDIA H20": "H20", "NVIDIA GB200": "GB200", "NVIDIA RTX A6000": "RTX-A6000",
		"NVIDIA TITAN V": "TITAN-V", "NVIDIA B200": "B200", "": "", "NVIDIA GH200 480GB": "GH200",
	} {
		if got := nvidiaType(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
}

func BenchmarkDetect_NoAccelerator(b *testing.B) {
	root := fake{}.root(b)
	for b.Loop() {
		if n, err := Detect(env(), Options{Root: root}); err != nil || len(n.Groups) > 0 {
			b.Fatal(fmt.Sprint(n, err))
		}
	}
}
