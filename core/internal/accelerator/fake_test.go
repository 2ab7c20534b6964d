package accelerator

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fake is a node made of files; a name in bin is a vendor's tool that prints
// the text.
type fake map[string]string

func (f fake) root(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range f {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") || strings.HasPrefix(text, "#!") {
			mode = 0o755
			if !strings.HasPrefix(text, "#!") {
				text = "#!/bin/sh\ncat <<'END'\n" + text + "\nEND\n"
			}
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func (f fake) with(more fake) fake {
	all := fake{}
	for _, m := range []fake{f, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// env makes a Lookup of NAME=value texts.
func env(vars ...string) Lookup {
	return func(name string) (string, bool) {
		for _, kv := range vars {
			if k, v, _ := strings.Cut(kv, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func detect(t testing.TB, f fake, declared map[string]float64, vars ...string) (Node, error) {
	t.Helper()
	root := f.root(t)
	return Detect(env(vars...), Options{Root: root, ToolPath: filepath.Join(root, "bin"), Declared: declared})
}

func mustDetect(t testing.TB, f fake, declared map[string]float64, vars ...string) Node {
	t.Helper()
	n, err := detect(t, f, declared, vars...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Nodes with n devices of a family.

func nvidiaNode(n int) fake {
	f := fake{}
	for i := range n {
		s := strconv.Itoa(i)
		f["dev/nvidia"+s] = ""
		f["proc/driver/nvidia/gpus/0000:0"+s+":00.0/information"] = "Model: \t\t NVIDIA A100-SXM4-40GB\n" +
			"IRQ:   \t\t 23\nGPU UUID: \t GPU-aaaa" + s + "\nBus Location: \t 0000:0" + s + ":00.0\nDevice Minor: \t " + s + "\nGPU Excluded:\t No\n"
	}
	f["dev/nvidiactl"], f["dev/nvidia-uvm"] = "", ""
	return f
}

func amdNode(n int) fake {
	f := fake{"sys/module/amdgpu/initstate": "live\n"}
	for i := range n + 1 {
		dir := "sys/class/kfd/kfd/topology/nodes/" + strconv.Itoa(i) + "/"
		f[dir+"gpu_id"], f[dir+"properties"] = "0\n", "cpu_cores_count 64\n"
		if i > 0 {
			minor := strconv.Itoa(127 + i)
			f[dir+"gpu_id"] = "4" + minor
			f[dir+"properties"] = "simd_count 304\ndevice_id 29857\ndrm_render_minor " + minor + "\n"
			f["dev/dri/renderD"+minor] = ""
		}
	}
	return f
}

func intelNode(n int) fake {
	f := fake{"usr/lib64/libze_intel_gpu.so.1": ""}
	for i := range n {
		name := "renderD" + strconv.Itoa(128+i)
		f["dev/dri/"+name] = ""
		f["sys/class/drm/"+name+"/device/vendor"] = "0x8086\n"
		f["sys/class/drm/"+name+"/device/device"] = "0x0bd5\n"
	}
	return f
}

// intelCard is a card for graphics with the driver for computing.
var intelCard = intelNode(1).with(fake{
	"sys/class/drm/renderD128/device/device": "0x56a0\n",
	"sys/class/drm/renderD128/device/uevent": "DRIVER=i915\nPCI_SLOT_NAME=0000:03:00.0\n",
})

func tpuNode(n int) fake {
	f := fake{}
	for i := range n {
		name := "accel" + strconv.Itoa(i)
		f["dev/"+name] = ""
		f["sys/class/accel/"+name+"/device/vendor"] = "0x1ae0\n"
	}
	return f
}

func npuNode(n int) fake {
	f := fake{"dev/davinci_manager": "", "sys/bus/pci/devices/0000:c1:00.0/vendor": "0x19e5", "sys/bus/pci/devices/0000:c1:00.0/device": "0xd802"}
	for i := range n {
		f["dev/davinci"+strconv.Itoa(i)] = ""
	}
	return f
}

func hpuNode(modules ...string) fake {
	f := fake{}
	for i, module := range modules {
		name := "accel" + strconv.Itoa(i)
		f["dev/accel/"+name] = ""
		dir := "sys/class/accel/" + name + "/device/"
		f[dir+"vendor"], f[dir+"device"], f[dir+"module_id"] = "0x1da3", "0x1020", module
	}
	return f
}

var neuronNode = fake{"bin/neuron-ls": `[{"neuron_device":0,"nc_count":2},{"neuron_device":1,"nc_count":2}]`}
