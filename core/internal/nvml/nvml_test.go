package nvml

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/gpus"
)

// TestMain makes the test's own program the helper of a gpus.Watcher.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "watch" {
		if Serve(os.Args[2], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestWatcher_AsksTheHelper(t *testing.T) {
	state(t, "device 42949672960 GPU-a", "use 0 10 500")
	w, err := gpus.Start(os.Args[0], fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if want := []gpus.Device{{UUID: "GPU-a", Bytes: 40 << 30}}; !reflect.DeepEqual(w.Devices, want) {
		t.Errorf("devices %v, want %v", w.Devices, want)
	}
	for range 3 {
		if uses, err := w.Uses(); err != nil || !reflect.DeepEqual(uses, []gpus.Use{{Pid: 10, Bytes: 500}}) {
			t.Fatalf("uses %v, %v", uses, err)
		}
	}
	if b, none := w.Bytes("GPU-a"), w.Bytes("GPU-x"); b != 40<<30 || none != 0 {
		t.Errorf("%d and %d bytes", b, none)
	}
}

func TestWatcher_HelperEndsOrCannot_Errors(t *testing.T) {
	if _, err := gpus.Start(os.Args[0], "/nonexistent.so"); err == nil || !strings.Contains(err.Error(), "nonexistent.so") {
		t.Errorf("no library: %v", err)
	}
	for _, helper := range []string{"", "/nonexistent/eagleray-gpu", "/bin/true"} {
		if _, err := gpus.Start(helper, ""); err == nil || !strings.Contains(err.Error(), "NVML") {
			t.Errorf("helper %q: %v", helper, err)
		}
	}
	state(t, "device 1 GPU-a")
	w, err := gpus.Start(os.Args[0], fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for range 2 {
		if _, err := w.Uses(); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("after its end: %v", err)
		}
	}
}

func TestWatcher_HelperEnds_AnotherIsStarted(t *testing.T) {
	state(t, "device 1 GPU-a")
	w, err := gpus.Start(os.Args[0], fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 2 { // the second time it waits before
		state(t, "device 1 GPU-a", "crash")
		if _, err := w.Uses(); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Fatalf("with a library that crashes: %v", err)
		}
		state(t, "device 1 GPU-a", "use 0 10 500")
		for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			uses, err := w.Uses()
			if err == nil && reflect.DeepEqual(uses, []gpus.Use{{Pid: 10, Bytes: 500}}) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("never again: %v, %v", uses, err)
			}
		}
	}
}

// fake builds a library of testdata and returns its path.
func fake(t *testing.T, name string) string {
	t.Helper()
	so := filepath.Join(t.TempDir(), "lib"+name+".so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", so, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return so
}

// state sets what the fake library tells.
func state(t *testing.T, lines ...string) {
	t.Helper()
	file := os.Getenv("FAKE_NVML")
	if file == "" {
		file = filepath.Join(t.TempDir(), "state")
		t.Setenv("FAKE_NVML", file)
	}
	if err := os.WriteFile(file+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil { // in one step: a helper may begin and read it at any time
		t.Fatal(err)
	}
}

func TestLibrary_DevicesAndUses(t *testing.T) {
	state(t, "device 42949672960 GPU-a", "device 85899345920 GPU-b")
	l, err := Open(fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	got := l.Devices()
	if want := []gpus.Device{{Index: 0, UUID: "GPU-a", Bytes: 40 << 30}, {Index: 1, UUID: "GPU-b", Bytes: 80 << 30}}; !reflect.DeepEqual(got, want) {
		t.Errorf("devices %v, want %v", got, want)
	}
	if b := l.Bytes("GPU-b"); b != 80<<30 {
		t.Errorf("GPU-b has %d bytes", b)
	}
	if b := l.Bytes("MIG-c"); b != 0 {
		t.Errorf("an unknown device has %d bytes", b)
	}
	// A process that computes and draws is listed twice; -1 is a driver that does not tell.
	state(t, "device 1 GPU-a", "device 1 GPU-b", "use 0 10 500", "draw 0 10 700", "use 1 10 5", "use 1 11 -1", "draw 1 12 9")
	for range 3 {
		uses, err := l.Uses()
		if want := []gpus.Use{{Pid: 10, Device: 0, Bytes: 700}, {Pid: 10, Device: 1, Bytes: 5}, {Pid: 12, Device: 1, Bytes: 9}}; err != nil || !reflect.DeepEqual(uses, want) {
			t.Fatalf("uses %v, %v; want %v", uses, err, want)
		}
	}
}

func TestLibrary_ManyProcesses_AllListed(t *testing.T) {
	lines := []string{"device 1 GPU-a"}
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("use 0 %d %d", i+1, i))
	}
	state(t, lines...)
	l, err := Open(fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	if uses, err := l.Uses(); err != nil || len(uses) != 1000 || uses[999] != (gpus.Use{Pid: 1000, Bytes: 999}) {
		t.Errorf("%d uses, %v", len(uses), err)
	}
}

func TestOpen_NoLibraryOrNoDriver_Errors(t *testing.T) {
	if _, err := Open("/nonexistent/libnvidia-ml.so.1"); err == nil || !strings.Contains(err.Error(), "NVML") {
		t.Errorf("no library: %v", err)
	}
	t.Setenv("FAKE_NVML", "/nonexistent")
	if _, err := Open(fake(t, "nvml")); err == nil || !strings.Contains(err.Error(), "does not start: error 9") {
		t.Errorf("no driver: %v", err)
	}
	if _, err := Open(fake(t, "cuda")); err == nil || !strings.Contains(err.Error(), "NVML lacks nvmlInit_v2") {
		t.Errorf("another library: %v", err)
	}
}

func TestOpenGPU_ListsThisProcess(t *testing.T) {
	state(t, "device 1 GPU-a")
	l, err := Open(fake(t, "nvml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := OpenGPU(fake(t, "cuda")); err != nil {
		t.Fatal(err)
	}
	if uses, err := l.Uses(); err != nil || !reflect.DeepEqual(uses, []gpus.Use{{Pid: os.Getpid(), Bytes: 1000}}) {
		t.Errorf("uses %v, %v", uses, err)
	}
	if err := OpenGPU("/nonexistent/libcuda.so.1"); err == nil || !strings.Contains(err.Error(), "CUDA") {
		t.Errorf("no library: %v", err)
	}
}
