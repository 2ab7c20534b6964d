package accelerator

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/nvml"
)

// TestMain makes the test's own program the one that opens NVIDIA's library.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "watch" {
		if nvml.Serve(os.Args[2], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const gib = int64(1) << 30

func withMemory(t *testing.T, f fake, gpus float64, memory []int64, vars ...string) (Node, error) {
	t.Helper()
	root := f.root(t)
	o := Options{Root: root, ToolPath: filepath.Join(root, "bin"), GPUMemory: memory}
	if gpus >= 0 {
		o.Declared = map[string]float64{GPU: gpus}
	}
	return Detect(env(vars...), o)
}

func TestGPUMemory_DetectedOrDeclared(t *testing.T) {
	smi := fake{"bin/nvidia-smi": "0, GPU-aaaa0, 40960\n1, GPU-aaaa1, 81920 MiB\n2, GPU-aaaa2, [N/A]"}
	amd := amdNode(2).with(fake{
		"sys/class/drm/renderD128/device/mem_info_vram_total": "68702699520\n",
		"sys/class/drm/renderD129/device/mem_info_vram_total": "34351349760\n",
	})
	for name, c := range map[string]struct {
		node   fake
		gpus   float64
		memory []int64
		vars   []string
		want   map[string]int64
	}{
		"tool":                 {nvidiaNode(3).with(smi), -1, nil, nil, map[string]int64{"0": 40 * gib, "1": 80 * gib}},
		"visible index":        {nvidiaNode(3).with(smi), -1, nil, []string{"CUDA_VISIBLE_DEVICES=1"}, map[string]int64{"1": 80 * gib}},
		"visible UUID":         {nvidiaNode(3).with(smi), -1, nil, []string{"CUDA_VISIBLE_DEVICES=GPU-aaaa1"}, map[string]int64{"GPU-aaaa1": 80 * gib}},
		"no tool":              {nvidiaNode(1), -1, nil, nil, map[string]int64{}},
		"tool that is nothing": {nvidiaNode(1).with(fake{"bin/nvidia-smi": "#!/bin/sh\nexit 1\n"}), -1, nil, nil, map[string]int64{}},
		"AMD":                  {amd, -1, nil, nil, map[string]int64{"0": 68702699520, "1": 34351349760}},
		"declared for all":     {fake{}, 2, []int64{gib}, nil, map[string]int64{"0": gib, "1": gib}},
		"declared for each":    {nvidiaNode(3).with(smi), 2, []int64{gib, 2 * gib}, nil, map[string]int64{"0": gib, "1": 2 * gib}},
		"none of either":       {fake{}, 2, nil, nil, map[string]int64{}},
	} {
		n, err := withMemory(t, c.node, c.gpus, c.memory, c.vars...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := n.GPUMemory(); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestGPUMemory_NVMLBeforeTheTool_KnowsMIG(t *testing.T) {
	so := filepath.Join(t.TempDir(), "nvml.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", so, "../nvml/testdata/nvml.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, []byte("device 42949672960 GPU-aaaa0\ndevice 10737418240 MIG-x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_NVML", state)
	node := nvidiaNode(2).with(fake{"bin/nvidia-smi": "0, GPU-aaaa0, 1\n1, GPU-aaaa1, 1"})
	for visible, want := range map[string]map[string]int64{
		"0":           {"0": 40 * gib},
		"MIG-x":       {"MIG-x": 10 * gib},
		"MIG-unknown": {},
	} {
		root := node.root(t)
		n, err := Detect(env("CUDA_VISIBLE_DEVICES="+visible), Options{Root: root, ToolPath: filepath.Join(root, "bin"), NVML: so, GPUHelper: os.Args[0]})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.GPUMemory(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", visible, got, want)
		}
	}
}

func TestGPUMemory_WrongDeclarations_Error(t *testing.T) {
	for want, c := range map[string]struct {
		gpus   float64
		memory []int64
	}{
		"no GPU":                {0, []int64{gib}},
		"3 sizes for 2 GPUs":    {2, []int64{1, 2, 3}},
		"0 bytes of GPU 0":      {2, []int64{0}},
		"-1 bytes of GPU 1":     {2, []int64{1, -1}},
		"bytes of GPU 1; must ": {2, []int64{9e13, 2e13}},
	} {
		if _, err := withMemory(t, fake{}, c.gpus, c.memory); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v of %v: %v, want …%s…", c.memory, c.gpus, err, want)
		}
	}
}
