package system

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/fault"
)

// libraries puts fakes in the place of the driver's, with one GPU of 16 GiB.
func libraries(t *testing.T) {
	dir := t.TempDir()
	for name, variable := range map[string]string{"nvml": "EAGLERAY_NVML_LIBRARY", "cuda": "EAGLERAY_CUDA_LIBRARY"} {
		so := filepath.Join(dir, name+".so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", so, filepath.Join(root, "core/internal/nvml/testdata", name+".c")).CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, out)
		}
		t.Setenv(variable, so)
	}
	state := filepath.Join(dir, "state")
	if err := os.WriteFile(state, []byte("device 17179869184 GPU-a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_NVML", state)
}

func TestGoAPI_GPUMemory(t *testing.T) {
	libraries(t)
	o := cluster(t, "--num-gpus=2", "--gpu-memory=16GiB")
	code := `
import os, time

def visible():
    return os.environ["CUDA_VISIBLE_DEVICES"]

def pid():
    return os.getpid()

def grow(count):
    with open(os.environ["FAKE_NVML"] + str(os.getpid()), "w") as file:
        file.write(f"device {2**34} GPU-a\nuse 0 {os.getpid()} {count}\n")
    os.replace(file.name, os.environ["FAKE_NVML"])  # the daemon reads it at any time
    time.sleep(0.2)
    return os.getpid()

class Where:
    def visible(self):
        return visible()
    def grow(self, count):
        return grow(count)
`
	if err := os.WriteFile(filepath.Join(o.PythonPath[0], "gpu_mod.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	s := must[*core.Session](t)(core.Connect(ctx, o))
	defer s.Close()
	size := must[int64](t)(core.ParseBytes("10GiB"))

	var actors []*core.Actor // an actor ends when its handle is collected
	for i := range 2 {       // the second one is made when the first one has its device
		a := must[*core.Actor](t)(s.NewActor(ctx, "gpu_mod:Where", core.Call{GPUMemory: size}))
		actors = append(actors, a)
		ref := must[*core.Ref[string]](t)(core.Invoke[string](ctx, a, "visible"))
		if got := must[string](t)(core.Get(ctx, ref)); got != string(rune('0'+i)) {
			t.Errorf("actor %d sees %q", i, got)
		}
	}
	small := must[*core.Function](t)(s.Function("gpu_mod:visible", core.Call{GPUMemory: 6 << 30}))
	if got := must[string](t)(core.Get(ctx, must[*core.Ref[string]](t)(core.Submit[string](ctx, small)))); got != "0" {
		t.Errorf("beside 10 GiB there is room for 6: saw %q", got)
	}
	runtime.KeepAlive(actors)
	_, err := core.Get(ctx, must[*core.Ref[string]](t)(core.Submit[string](ctx, must[*core.Function](t)(s.Function("gpu_mod:visible", core.Call{GPUMemory: 17 << 30})))))
	if fault.CodeOf(err) != fault.TaskUnschedulable || !strings.Contains(err.Error(), "largest has 16 GiB") {
		t.Errorf("17 GiB: %v", err)
	}

	greedy := must[*core.Function](t)(s.Function("gpu_mod:grow", core.Call{GPUMemory: 1 << 30, GPUMemoryEnforce: true}))
	_, err = core.Get(ctx, must[*core.Ref[int]](t)(core.Submit[int](ctx, greedy, 2<<30)))
	if fault.CodeOf(err) != fault.GPUMemoryExceeded {
		t.Errorf("2 GiB of 1: %v", err)
	}
	actor := must[*core.Actor](t)(s.NewActor(ctx, "gpu_mod:Where", core.Call{GPUMemory: 1 << 30, GPUMemoryEnforce: true}))
	_, err = core.Get(ctx, must[*core.Ref[int]](t)(core.Invoke[int](ctx, actor, "grow", 2<<30)))
	if fault.CodeOf(err) != fault.GPUMemoryExceeded {
		t.Errorf("actor, 2 GiB of 1: %v", err)
	}

	leaky := must[*core.Function](t)(s.Function("gpu_mod:grow", core.Call{GPUMemory: 1 << 30, MaxCalls: core.OnLeak}))
	var pids []int
	for _, mib := range []int{1, 1, 9, 9} {
		pids = append(pids, must[int](t)(core.Get(ctx, must[*core.Ref[int]](t)(core.Submit[int](ctx, leaky, mib<<20)))))
	}
	if pids[0] != pids[1] || pids[1] != pids[2] || pids[2] == pids[3] {
		t.Errorf("pids %v: want one process until the third call, which leaks", pids)
	}

	for want, c := range map[string]core.Call{
		"must be from 0":        {GPUMemory: -1},
		"needs GPUMemory":       {GPUMemoryEnforce: true},
		"use the field":         {Resources: map[string]float64{"gpu_memory": 1}},
		"functions with GPUs":   {MaxCalls: core.OnLeak},
		"is a number of calls,": {GPUMemory: 1, MaxCalls: -3},
	} {
		if _, err := s.Function("gpu_mod:pid", c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want …%s…", c, err, want)
		}
	}
}
